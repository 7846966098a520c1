#include "io/tls_aead.h"

#include <string.h>

bool tls_aead_open(struct tls_aead *aead, const EVP_CIPHER *cipher, bool seals) {
    *aead = (struct tls_aead){.context = EVP_CIPHER_CTX_new(), .cipher = cipher, .seals = seals};
    return aead->context != NULL;
}

void tls_aead_close(struct tls_aead *aead) {
    EVP_CIPHER_CTX_free(aead->context);
    aead->context = NULL;
}

size_t tls_aead_key_bytes(const struct tls_aead *aead) {
    return (size_t)EVP_CIPHER_get_key_length(aead->cipher);
}

bool tls_aead_set_key(struct tls_aead *aead, const uint8_t *key) {
    return EVP_CipherInit_ex(aead->context, aead->cipher, NULL, key, NULL, aead->seals) == 1;
}

bool tls_aead_begin(struct tls_aead *aead, const uint8_t nonce[TLS_IV_BYTES], const uint8_t *head,
                    size_t head_bytes) {
    int ignored;
    return EVP_CipherInit_ex(aead->context, NULL, NULL, NULL, nonce, -1) == 1 &&
           EVP_CipherUpdate(aead->context, NULL, &ignored, head, (int)head_bytes) == 1;
}

bool tls_aead_cross(struct tls_aead *aead, uint8_t *to, const uint8_t *from, size_t count) {
    int done;
    return count == 0 || EVP_CipherUpdate(aead->context, to, &done, from, (int)count) == 1;
}

bool tls_aead_seal(struct tls_aead *aead, uint8_t tag[TLS_TAG_BYTES]) {
    uint8_t none[TLS_TAG_BYTES];
    int ignored;
    return EVP_CipherFinal_ex(aead->context, none, &ignored) == 1 &&
           EVP_CIPHER_CTX_ctrl(aead->context, EVP_CTRL_AEAD_GET_TAG, TLS_TAG_BYTES, tag) == 1;
}

bool tls_aead_verify(struct tls_aead *aead, const uint8_t tag[TLS_TAG_BYTES]) {
    uint8_t none[TLS_TAG_BYTES], expected[TLS_TAG_BYTES]; // the library takes no constant
    int ignored;
    memcpy(expected, tag, sizeof expected);
    return EVP_CIPHER_CTX_ctrl(aead->context, EVP_CTRL_AEAD_SET_TAG, sizeof expected, expected) == 1 &&
           EVP_CipherFinal_ex(aead->context, none, &ignored) == 1;
}
