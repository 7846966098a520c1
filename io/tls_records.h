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

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "io/secure.h"
#include "io/tls_aead.h"

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
