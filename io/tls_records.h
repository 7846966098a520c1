// Records of TLS 1.3 once its handshake is over (RFC 8446, sections 5 and 7). They are opened from where they
// arrived to where they are read, and sealed from where they lie to where they are sent. The library's own
// way copies each of them twice on its way in and twice on its way out. The cipher is the library's here,
// too.
//
//   key updates   as the peer asks, and when enough was sealed with one key
//   alerts        a malformed record gets one; the peer's end is read
//
// Known to io/tls.c and its tests.
#pragma once

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "io/secure.h"

// --- The cipher of a record
//
// The cipher of TLS 1.3's records (RFC 8446, section 5.2), with one key at a time, for one direction. A record begins with its
// nonce and its head, goes across in as many parts as it has, and ends with its tag. AES-GCM is tls_gcm.h's where there is
// such a thing, all else OpenSSL's.
//
// Known to io/tls_records.c and its tests.

enum { TLS_KEY_BYTES_MAX = 32, TLS_IV_BYTES = 12, TLS_TAG_BYTES = 16 };

// The state of a cipher, of no use before its first key. Zero bytes may be closed.
struct tls_aead {
    struct tls_gcm *gcm;     // or
    EVP_CIPHER_CTX *context; // the other is NULL
    const EVP_CIPHER *cipher;
    bool seals; // else it opens
};

// False without memory.
bool tls_aead_open(struct tls_aead *aead, const EVP_CIPHER *cipher, bool seals);
void tls_aead_close(struct tls_aead *aead);
size_t tls_aead_key_bytes(const struct tls_aead *aead);
// False without memory; then it has no key.
bool tls_aead_set_key(struct tls_aead *aead, const uint8_t *key);

// --- Keys of one direction

// One direction of TLS 1.3: its keys, each from the secret before (RFC 8446, section 7), and a record that is
// sealed or opened with them (section 5.2). The contents and the order of records aren't known here.
//
// Known to io/tls*.c and their tests.

enum {
    TLS_SECRET_BYTES_MAX = 48, // as SHA-384 makes them
    TLS_HEAD_BYTES = 5,
    TLS_TYPE_BYTES = 1, // behind what is said
};

// The type of every record, and of those that say data.
enum { TLS_TYPE_DATA = 23 };

struct tls_secret {
    uint8_t bytes[TLS_SECRET_BYTES_MAX];
    uint8_t count; // 0: there is none
};

struct tls_keys {
    struct tls_aead aead;
    const EVP_MD *digest;
    struct tls_secret secret;
    uint8_t iv[TLS_IV_BYTES];
    uint64_t count; // of records with this key
};

// False without memory, or if the suite is none of TLS 1.3's that are known; tls_keys_close is due in either case.
bool tls_keys_open(struct tls_keys *way, const struct tls_secret *secret, const SSL_CIPHER *suite,
                   bool seals);
// Wipes what it had.
void tls_keys_close(struct tls_keys *way);
// Goes on with the next key.
bool tls_keys_update(struct tls_keys *way);

// How long a record is that says so many bytes.
static inline size_t tls_sealed_bytes(size_t said) {
    return TLS_HEAD_BYTES + said + TLS_TYPE_BYTES + TLS_TAG_BYTES;
}
// Writes the record that says these parts, of `bytes` together.
bool tls_keys_seal(struct tls_keys *way, uint8_t type, const struct iovec *parts, unsigned count,
                   size_t bytes, uint8_t *record);
// Opens a record of tls_sealed_bytes(count) bytes: that many to `to`, and the byte behind them, the type unless it is
// padding, to *type. False: it isn't what was sealed, and what was written means nothing.
bool tls_keys_open_record(struct tls_keys *way, const uint8_t *record, size_t count, uint8_t *to,
                          uint8_t *type);

enum { TLS_SEALED_COUNT_MAX = 1 << 24 };

struct tls_records;

// With what the handshake has agreed on: the secrets of the client's and of the server's direction, and how many records
// have been sealed with the latter already. NULL without memory, or if the suite is none of TLS 1.3's that are known.
struct tls_records *tls_records_create(const struct tls_secret *client, const struct tls_secret *server,
                                       const SSL_CIPHER *suite, uint64_t sealed);
void tls_records_destroy(struct tls_records *records);
// How many are sealed with one key, at most; TLS_SEALED_COUNT_MAX unless a test wants to see it.
void tls_records_bound(struct tls_records *records, uint64_t sealed_max);

// Implement the functions of struct cipher.
enum secure_result tls_records_open(struct tls_records *records, struct secure *secure,
                                    struct secure_input *input, uint8_t *out, size_t room, size_t *count);
bool tls_records_seal(struct tls_records *records, struct secure *secure, const struct iovec *parts,
                      unsigned count);
void tls_records_finish(struct tls_records *records, struct secure *secure);

// --- Each is false where the library gave up; then the record means nothing.

bool tls_aead_begin(struct tls_aead *aead, const uint8_t nonce[TLS_IV_BYTES], const uint8_t *head,
                    size_t head_bytes);
bool tls_aead_cross(struct tls_aead *aead, uint8_t *to, const uint8_t *from, size_t count);
bool tls_aead_seal(struct tls_aead *aead, uint8_t tag[TLS_TAG_BYTES]);
// Ends the opening of a record. False: the record isn't as the peer sealed it, or the library failed.
bool tls_aead_verify(struct tls_aead *aead, const uint8_t tag[TLS_TAG_BYTES]);
