#include "io/tls_keys.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <string.h>

enum { LABEL_BYTES_MAX = 16 };

// --- Keys

// HKDF-Expand-Label without a context; up to one block of the hash.
static bool expand(const EVP_MD *digest, const struct tls_secret *secret, const char *label, uint8_t *out,
                   size_t count) {
    static const char prefix[] = "tls13 ";
    size_t prefix_bytes = sizeof prefix - 1, label_bytes = strlen(label), at = 0;
    uint8_t info[3 + sizeof prefix + LABEL_BYTES_MAX + 1], made[EVP_MAX_MD_SIZE];
    info[at++] = 0;
    info[at++] = (uint8_t)count;
    info[at++] = (uint8_t)(prefix_bytes + label_bytes);
    memcpy(info + at, prefix, prefix_bytes);
    memcpy(info + at + prefix_bytes, label, label_bytes);
    at += prefix_bytes + label_bytes;
    info[at++] = 0; // no context
    info[at++] = 1; // the first block
    bool good = HMAC(digest, secret->bytes, secret->count, info, at, made, NULL) != NULL;
    if (good)
        memcpy(out, made, count);
    OPENSSL_cleanse(made, sizeof made);
    return good;
}

static bool set_key(struct tls_keys *way) {
    uint8_t key[TLS_KEY_BYTES_MAX];
    size_t key_bytes = tls_aead_key_bytes(&way->aead);
    bool good = key_bytes <= sizeof key && expand(way->digest, &way->secret, "key", key, key_bytes) &&
                expand(way->digest, &way->secret, "iv", way->iv, TLS_IV_BYTES) &&
                tls_aead_set_key(&way->aead, key);
    way->count = 0;
    OPENSSL_cleanse(key, sizeof key);
    return good;
}

bool tls_keys_update(struct tls_keys *way) {
    struct tls_secret before = way->secret;
    bool good = expand(way->digest, &before, "traffic upd", way->secret.bytes, before.count);
    OPENSSL_cleanse(&before, sizeof before);
    return good && set_key(way);
}

bool tls_keys_open(struct tls_keys *way, const struct tls_secret *secret, const SSL_CIPHER *suite,
                   bool seals) {
    const EVP_CIPHER *cipher = EVP_get_cipherbynid(SSL_CIPHER_get_cipher_nid(suite));
    *way = (struct tls_keys){.digest = SSL_CIPHER_get_handshake_digest(suite), .secret = *secret};
    return cipher && way->digest && tls_aead_open(&way->aead, cipher, seals) && set_key(way);
}

void tls_keys_close(struct tls_keys *way) {
    tls_aead_close(&way->aead);
    OPENSSL_cleanse(way, sizeof *way);
}

// --- Records

// Begins a record: its nonce and its head go in first.
static bool begin(struct tls_keys *way, const uint8_t head[TLS_HEAD_BYTES]) {
    uint8_t nonce[TLS_IV_BYTES];
    memcpy(nonce, way->iv, sizeof nonce);
    for (unsigned at = 0; at < sizeof way->count; at++)
        nonce[TLS_IV_BYTES - 1 - at] ^= (uint8_t)(way->count >> 8 * at);
    way->count++;
    return tls_aead_begin(&way->aead, nonce, head, TLS_HEAD_BYTES);
}

bool tls_keys_open_record(struct tls_keys *way, const uint8_t *record, size_t count, uint8_t *to,
                          uint8_t *type) {
    const uint8_t *text = record + TLS_HEAD_BYTES;
    return begin(way, record) && tls_aead_cross(&way->aead, to, text, count) &&
           tls_aead_cross(&way->aead, type, text + count, TLS_TYPE_BYTES) &&
           tls_aead_verify(&way->aead, text + count + TLS_TYPE_BYTES);
}

bool tls_keys_seal(struct tls_keys *way, uint8_t type, const struct iovec *parts, unsigned count,
                   size_t bytes, uint8_t *to) {
    size_t protected = bytes + TLS_TYPE_BYTES + TLS_TAG_BYTES;
    uint8_t *at = to + TLS_HEAD_BYTES;
    memcpy(to, (uint8_t[]){TLS_TYPE_DATA, 3, 3, (uint8_t)(protected >> 8), (uint8_t) protected},
           TLS_HEAD_BYTES);
    bool good = begin(way, to);
    for (unsigned index = 0; good && index < count; index++) {
        good = tls_aead_cross(&way->aead, at, parts[index].iov_base, parts[index].iov_len);
        at += parts[index].iov_len;
    }
    return good && tls_aead_cross(&way->aead, at, &type, TLS_TYPE_BYTES) &&
           tls_aead_seal(&way->aead, at + TLS_TYPE_BYTES);
}
