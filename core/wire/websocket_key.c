#include "core/wire/websocket_key.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <string.h>

static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; // the standard's
enum { GUID_BYTES = sizeof guid - 1 };

static bool is_base64(uint8_t byte) {
    uint8_t letter = byte | 0x20;
    return (letter >= 'a' && letter <= 'z') || (byte >= '0' && byte <= '9') || byte == '+' || byte == '/';
}

// 16 bytes are 22 digits, and the end is filled up.
static bool is_key(const uint8_t *key, size_t count) {
    if (count != WEBSOCKET_KEY_BYTES || key[count - 2] != '=' || key[count - 1] != '=')
        return false;
    for (size_t at = 0; at < count - 2; at++)
        if (!is_base64(key[at]))
            return false;
    return true;
}

bool websocket_accept(const uint8_t *key, size_t count, char out[WEBSOCKET_ACCEPT_BYTES]) {
    static_assert(WEBSOCKET_ACCEPT_BYTES == (SHA_DIGEST_LENGTH + 2) / 3 * 4, "base64");
    uint8_t text[WEBSOCKET_KEY_BYTES + GUID_BYTES], digest[SHA_DIGEST_LENGTH];
    uint8_t encoded[WEBSOCKET_ACCEPT_BYTES + 1]; // it ends with a NUL
    if (!is_key(key, count))
        return false;
    memcpy(text, key, WEBSOCKET_KEY_BYTES);
    memcpy(text + WEBSOCKET_KEY_BYTES, guid, GUID_BYTES);
    // Without this option the library would look for its configuration in a file.
    if (!OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) || !SHA1(text, sizeof text, digest))
        return false;
    EVP_EncodeBlock(encoded, digest, sizeof digest);
    memcpy(out, encoded, WEBSOCKET_ACCEPT_BYTES);
    return true;
}
