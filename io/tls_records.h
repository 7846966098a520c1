// Records of TLS 1.3 after the handshake (RFC 8446, sections 5 and 7). Records are opened from the arrival straight to
// where they are read, and sealed straight to where they are sent. OpenSSL's own functions would copy each record twice
// in either direction. The ciphers are OpenSSL's or tls_gcm's.
//
//     key updates   when the peer asks, and when one key has sealed enough records
//     alerts        a malformed record gets one; the peer's close_notify is read
//
// Only for io/tls.c and its tests.
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
// The cipher of TLS 1.3's records (RFC 8446, section 5.2), with one key at a time, for one direction. A record begins
// with its nonce and its head, passes the cipher in any number of parts, and ends with its tag. tls_gcm.h does AES-GCM
// if it is usable; OpenSSL does the rest.
//
// Only for io/tls_records.c and its tests.

enum { TLS_KEY_BYTES_MAX = 32, TLS_IV_BYTES = 12, TLS_TAG_BYTES = 16 };

// The state of a cipher. A key must be set before use. A zeroed state may be closed.
struct tls_aead {
    struct tls_gcm *gcm;     // for AES-GCM with tls_gcm; else NULL
    EVP_CIPHER_CTX *context; // for OpenSSL; else NULL
    const EVP_CIPHER *cipher;
    bool seals; // false: opens
};

// Makes the state. Returns false without memory.
bool tls_aead_open(struct tls_aead *aead, const EVP_CIPHER *cipher, bool seals);
void tls_aead_close(struct tls_aead *aead);
size_t tls_aead_key_bytes(const struct tls_aead *aead);
// Sets the key. Returns false without memory; then there is no key.
bool tls_aead_set_key(struct tls_aead *aead, const uint8_t *key);

// --- Keys of one direction

// One direction of TLS 1.3: its keys, each derived from the secret before (RFC 8446, section 7), and the sealing and
// opening of a record (section 5.2). Doesn't know contents and order of records.
//
// Only for io/tls*.c and their tests.

enum {
    TLS_SECRET_BYTES_MAX = 48, // length with SHA-384
    TLS_HEAD_BYTES = 5,
    TLS_TYPE_BYTES = 1, // follows the plaintext
};

// The outer type of every record, and the inner type of data.
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
    uint64_t count; // records with this key
};

// Makes the keys. Returns false without memory, or for an unknown suite. The caller must call tls_keys_close in either
// case.
bool tls_keys_open(struct tls_keys *way, const struct tls_secret *secret, const SSL_CIPHER *suite,
                   bool seals);
// Wipes the keys and frees their memory.
void tls_keys_close(struct tls_keys *way);
// Goes on with the next key.
bool tls_keys_update(struct tls_keys *way);

// Returns the length of a record with `said` bytes of plaintext.
static inline size_t tls_sealed_bytes(size_t said) {
    return TLS_HEAD_BYTES + said + TLS_TYPE_BYTES + TLS_TAG_BYTES;
}
// Writes the record with these parts, which have `bytes` bytes together.
bool tls_keys_seal(struct tls_keys *way, uint8_t type, const struct iovec *parts, unsigned count,
                   size_t bytes, uint8_t *record);
// Opens a record of tls_sealed_bytes(count) bytes. Writes `count` bytes to `to`, and the byte after them to *type: the
// type, unless that byte is padding. Returns false if the record was changed; the written bytes must not be used then.
bool tls_keys_open_record(struct tls_keys *way, const uint8_t *record, size_t count, uint8_t *to,
                          uint8_t *type);

enum { TLS_SEALED_COUNT_MAX = 1 << 24 };

struct tls_records;

// Makes the state after a handshake: the secrets of the client's and the server's direction, and the number of records
// sealed under the server's so far. Returns NULL without memory, or for an unknown suite.
struct tls_records *tls_records_create(const struct tls_secret *client, const struct tls_secret *server,
                                       const SSL_CIPHER *suite, uint64_t sealed);
void tls_records_destroy(struct tls_records *records);
// Bounds the records that are sealed with one key. TLS_SEALED_COUNT_MAX, except in tests.
void tls_records_bound(struct tls_records *records, uint64_t sealed_max);

// Implement the functions of struct cipher.
enum secure_result tls_records_open(struct tls_records *records, struct secure *secure,
                                    struct secure_input *input, uint8_t *out, size_t room, size_t *count);
bool tls_records_seal(struct tls_records *records, struct secure *secure, const struct iovec *parts,
                      unsigned count);
void tls_records_finish(struct tls_records *records, struct secure *secure);

// --- Each returns false if the library failed; the record must not be used then.

bool tls_aead_begin(struct tls_aead *aead, const uint8_t nonce[TLS_IV_BYTES], const uint8_t *head,
                    size_t head_bytes);
bool tls_aead_cross(struct tls_aead *aead, uint8_t *to, const uint8_t *from, size_t count);
bool tls_aead_seal(struct tls_aead *aead, uint8_t tag[TLS_TAG_BYTES]);
// Checks the tag of an opened record. Returns false if the record was changed, or the library failed.
bool tls_aead_verify(struct tls_aead *aead, const uint8_t tag[TLS_TAG_BYTES]);
