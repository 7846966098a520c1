// Finds and makes the spellings of a secret that a program has encoded: in JSON, in a URL, in hex, in base64. In base64
// other bytes may stand before and behind the secret, as in `Authorization: Basic`.
#pragma once

#include <stddef.h>

// Returns how many bytes at the text's beginning spell the secret, byte by byte. Each byte may be plain, or as JSON
// (\", \n, \u00e9), Python (\xe9) or a URL (%C3, +) write it. 0: the text doesn't begin with the secret. A backslash
// must be escaped.
size_t secret_variant_bytes(const char *text, size_t bytes, const char *secret, size_t secret_bytes);

typedef void secret_variant_sink(void *context, const char *text, size_t bytes);

// Calls `sink` with each spelling of the secret: in hex with lower-case and upper-case digits, and in base64 of both
// alphabets. In base64 a secret has three spellings, by the number of bytes before it; each is cut to the digits that
// the secret alone decides. A spelling is valid during the call. Secrets of more than SECRET_VARIANT_BYTES_MAX bytes
// have no spellings.
enum { SECRET_VARIANT_BYTES_MAX = 1 << 10 };
void secret_variants(const char *secret, size_t secret_bytes, secret_variant_sink *sink, void *context);
