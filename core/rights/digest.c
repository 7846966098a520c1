#include "core/rights/digest.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <string.h>

static const char prefix[] = "sha256:";
static const char token_prefix[] = "pb_";
enum { PREFIX_BYTES = sizeof prefix - 1, TOKEN_PREFIX_BYTES = sizeof token_prefix - 1 };

bool digest_make(const void *token, size_t bytes, struct digest *out) {
    static_assert(DIGEST_BYTES == SHA256_DIGEST_LENGTH, "SHA-256");
    assert(token || bytes == 0);
    // Without this option the library would look for its configuration in a file.
    return OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) &&
           SHA256(bytes ? token : "", bytes, out->bytes);
}

bool digest_same(const struct digest *one, const struct digest *other) {
    return CRYPTO_memcmp(one->bytes, other->bytes, DIGEST_BYTES) == 0;
}

static int digit(char letter) {
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    letter = (char)(letter | 0x20);
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

bool digest_parse(const char *text, size_t bytes, struct digest *out) {
    if (bytes != DIGEST_TEXT_BYTES || memcmp(text, prefix, PREFIX_BYTES) != 0)
        return false;
    const char *digits = text + PREFIX_BYTES;
    for (size_t at = 0; at < DIGEST_BYTES; at++) {
        int high = digit(digits[2 * at]), low = digit(digits[2 * at + 1]);
        if (high < 0 || low < 0)
            return false;
        out->bytes[at] = (uint8_t)(high << 4 | low);
    }
    return true;
}

void digest_text(const struct digest *digest, char out[DIGEST_TEXT_BYTES]) {
    static const char digits[] = "0123456789abcdef";
    static_assert(DIGEST_TEXT_BYTES == PREFIX_BYTES + 2 * DIGEST_BYTES, "a prefix and digits");
    memcpy(out, prefix, PREFIX_BYTES);
    for (size_t at = 0; at < DIGEST_BYTES; at++) {
        out[PREFIX_BYTES + 2 * at] = digits[digest->bytes[at] >> 4];
        out[PREFIX_BYTES + 2 * at + 1] = digits[digest->bytes[at] & 15];
    }
}

void digest_wipe(void *secret, size_t bytes) {
    assert(secret || bytes == 0);
    OPENSSL_cleanse(secret, bytes);
}

void token_text(const uint8_t random[TOKEN_RANDOM_BYTES], char out[TOKEN_TEXT_BYTES]) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    static_assert(TOKEN_TEXT_BYTES == TOKEN_PREFIX_BYTES + (TOKEN_RANDOM_BYTES * 8 + 5) / 6,
                  "six bits a digit");
    memcpy(out, token_prefix, TOKEN_PREFIX_BYTES);
    uint32_t bits = 0, count = 0;
    char *to = out + TOKEN_PREFIX_BYTES;
    for (size_t at = 0; at < TOKEN_RANDOM_BYTES; at++) {
        bits = (bits & 63) << 8 | random[at];
        for (count += 8; count >= 6; count -= 6)
            *to++ = digits[bits >> (count - 6) & 63];
    }
    *to++ = digits[bits << (6 - count) & 63];
    assert(to == out + TOKEN_TEXT_BYTES);
}
