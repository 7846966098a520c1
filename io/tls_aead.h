// The cipher of TLS 1.3's records (RFC 8446, section 5.2), with one key at a time, for one direction. A record begins with its
// nonce and its head, goes across in as many parts as it has, and ends with its tag. AES-GCM is tls_gcm.h's where there is
// such a thing, all else OpenSSL's.
//
// Known to io/tls_records.c and its tests.
#pragma once

#include <openssl/evp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

// --- Each is false where the library gave up; then the record means nothing.

bool tls_aead_begin(struct tls_aead *aead, const uint8_t nonce[TLS_IV_BYTES], const uint8_t *head,
                    size_t head_bytes);
bool tls_aead_cross(struct tls_aead *aead, uint8_t *to, const uint8_t *from, size_t count);
bool tls_aead_seal(struct tls_aead *aead, uint8_t tag[TLS_TAG_BYTES]);
// Ends the opening of a record. Also false if the record isn't as it was sealed.
bool tls_aead_verify(struct tls_aead *aead, const uint8_t tag[TLS_TAG_BYTES]);
