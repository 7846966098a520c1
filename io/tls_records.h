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

#include "io/secure.h"
#include "io/tls_keys.h"

enum { TLS_SEALED_COUNT_MAX = 1 << 24 };

struct tls_records;

// With what the handshake has agreed on: the secrets of the client's and of the server's direction, and how many records
// have been sealed with the latter already. NULL without memory, or if the suite is none of TLS 1.3's that are known.
struct tls_records *tls_records_create(const struct tls_secret *client, const struct tls_secret *server,
                                       const SSL_CIPHER *suite, uint64_t sealed);
void tls_records_destroy(struct tls_records *records);
// How many are sealed with one key, at most; TLS_SEALED_COUNT_MAX unless a test wants to see it.
void tls_records_bound(struct tls_records *records, uint64_t sealed_max);

// As the functions of struct cipher.
enum secure_result tls_records_open(struct tls_records *records, struct secure *secure,
                                    struct secure_input *input, uint8_t *out, size_t room, size_t *count);
bool tls_records_seal(struct tls_records *records, struct secure *secure, const struct iovec *parts,
                      unsigned count);
void tls_records_finish(struct tls_records *records, struct secure *secure);
