// SHA-256 of tokens: what the users file holds of them.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DIGEST_BYTES = 32,
    TOKEN_BYTES_MAX = 4096,                   // no longer one is looked at
    DIGEST_TEXT_BYTES = 7 + 2 * DIGEST_BYTES, // sha256: and hexadecimal digits
    TOKEN_RANDOM_BYTES = 32,                  // of a token that we make
    TOKEN_TEXT_BYTES = 3 + 43,                // pb_ and base64url without filling
};

struct digest {
    uint8_t bytes[DIGEST_BYTES];
};

// False when the library fails.
bool digest_make(const void *token, size_t bytes, struct digest *out);
// Takes as long whether they are equal or not.
bool digest_same(const struct digest *one, const struct digest *other);
// Reads `sha256:` and 64 digits; false: anything else.
bool digest_parse(const char *text, size_t bytes, struct digest *out);
// Writes the same; without a terminating zero.
void digest_text(const struct digest *digest, char out[DIGEST_TEXT_BYTES]);
// Overwrites what was secret, also where nobody reads it again.
void digest_wipe(void *secret, size_t bytes);

// The token that so many random bytes make; without a terminating zero.
void token_text(const uint8_t random[TOKEN_RANDOM_BYTES], char out[TOKEN_TEXT_BYTES]);
