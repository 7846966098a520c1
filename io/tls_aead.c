#include "io/tls_aead.h"

#include <openssl/crypto.h>
#include <string.h>

#include "io/tls_gcm.h"

static bool is_gcm(const EVP_CIPHER *cipher) {
    return EVP_CIPHER_get_mode(cipher) == EVP_CIPH_GCM_MODE;
}

bool tls_aead_open(struct tls_aead *aead, const EVP_CIPHER *cipher, bool seals) {
    *aead = (struct tls_aead){.cipher = cipher, .seals = seals};
    if (tls_gcm_is_there() && is_gcm(cipher))
        aead->gcm = tls_gcm_create(tls_aead_key_bytes(aead), seals);
    else
        aead->context = EVP_CIPHER_CTX_new();
    return aead->gcm || aead->context;
}

void tls_aead_close(struct tls_aead *aead) {
    tls_gcm_destroy(aead->gcm);
    EVP_CIPHER_CTX_free(aead->context);
    *aead = (struct tls_aead){0};
}

size_t tls_aead_key_bytes(const struct tls_aead *aead) {
    return (size_t)EVP_CIPHER_get_key_length(aead->cipher);
}

bool tls_aead_set_key(struct tls_aead *aead, const uint8_t *key) {
    if (!aead->gcm)
        return EVP_CipherInit_ex(aead->context, aead->cipher, NULL, key, NULL, aead->seals) == 1;
    tls_gcm_set_key(aead->gcm, key);
    return true;
}

bool tls_aead_begin(struct tls_aead *aead, const uint8_t nonce[TLS_IV_BYTES], const uint8_t *head,
                    size_t head_bytes) {
    int ignored;
    if (aead->gcm) {
        tls_gcm_begin_record(aead->gcm, nonce, head, head_bytes);
        return true;
    }
    return EVP_CipherInit_ex(aead->context, NULL, NULL, NULL, nonce, -1) == 1 &&
           EVP_CipherUpdate(aead->context, NULL, &ignored, head, (int)head_bytes) == 1;
}

bool tls_aead_cross(struct tls_aead *aead, uint8_t *to, const uint8_t *from, size_t count) {
    int done;
    if (aead->gcm) {
        tls_gcm_cross(aead->gcm, to, from, count);
        return true;
    }
    return count == 0 || EVP_CipherUpdate(aead->context, to, &done, from, (int)count) == 1;
}

bool tls_aead_seal(struct tls_aead *aead, uint8_t tag[TLS_TAG_BYTES]) {
    uint8_t none[TLS_TAG_BYTES];
    int ignored;
    if (aead->gcm) {
        tls_gcm_tag(aead->gcm, tag);
        return true;
    }
    return EVP_CipherFinal_ex(aead->context, none, &ignored) == 1 &&
           EVP_CIPHER_CTX_ctrl(aead->context, EVP_CTRL_AEAD_GET_TAG, TLS_TAG_BYTES, tag) == 1;
}

bool tls_aead_verify(struct tls_aead *aead, const uint8_t tag[TLS_TAG_BYTES]) {
    uint8_t none[TLS_TAG_BYTES], expected[TLS_TAG_BYTES]; // the library takes no constant
    int ignored;
    if (aead->gcm) {
        tls_gcm_tag(aead->gcm, expected);
        return CRYPTO_memcmp(expected, tag, TLS_TAG_BYTES) == 0;
    }
    memcpy(expected, tag, sizeof expected);
    return EVP_CIPHER_CTX_ctrl(aead->context, EVP_CTRL_AEAD_SET_TAG, sizeof expected, expected) == 1 &&
           EVP_CipherFinal_ex(aead->context, none, &ignored) == 1;
}
