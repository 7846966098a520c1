// Computes SHA-256 of tokens. The users file holds these digests in place of tokens.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DIGEST_BYTES = 32,
    TOKEN_BYTES_MAX = 4096,                   // a longer token is refused unread
    DIGEST_TEXT_BYTES = 7 + 2 * DIGEST_BYTES, // sha256: and hexadecimal digits
    TOKEN_RANDOM_BYTES = 32,                  // random bytes of a token that the program makes
    TOKEN_TEXT_BYTES = 3 + 43,                // pb_ and base64url without padding
};

struct digest {
    uint8_t bytes[DIGEST_BYTES];
};

// Computes a token's digest. Returns false when the library fails.
bool digest_make(const void *token, size_t bytes, struct digest *out);
// Compares two digests in a time that doesn't depend on their bytes.
bool digest_same(const struct digest *one, const struct digest *other);
// Reads `sha256:` and 64 digits. Returns false for any other text.
bool digest_parse(const char *text, size_t bytes, struct digest *out);
// Writes `sha256:` and 64 digits, without a terminating zero.
void digest_text(const struct digest *digest, char out[DIGEST_TEXT_BYTES]);
// Overwrites a secret. The compiler doesn't drop this, even if nobody reads the memory again.
void digest_wipe(void *secret, size_t bytes);

// Writes the token of these random bytes, without a terminating zero.
void token_text(const uint8_t random[TOKEN_RANDOM_BYTES], char out[TOKEN_TEXT_BYTES]);
