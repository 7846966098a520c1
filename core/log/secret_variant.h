// How a secret looks once a program has encoded it: in JSON, in a URL, in hex, in base64, where other bytes may stand before and behind
// it, as in `Authorization: Basic`.
#pragma once

#include <stddef.h>

// Returns how many bytes at the text's beginning spell the secret byte by byte: each as it is, or as JSON (\", \n, \u00e9), Python (\xe9)
// or a URL (%C3, +) write it. 0: they don't. A backslash is spelled with another one.
size_t secret_variant_bytes(const char *text, size_t bytes, const char *secret, size_t secret_bytes);

typedef void secret_variant_sink(void *context, const char *text, size_t bytes);

// Hands on the secret in hex, in small and in capital digits, and in base64 of both alphabets, each in three parts of other text: of
// that what the secret alone decides. A spelling lasts as long as the call. Secrets past SECRET_VARIANT_BYTES_MAX bytes have none.
enum { SECRET_VARIANT_BYTES_MAX = 1 << 10 };
void secret_variants(const char *secret, size_t secret_bytes, secret_variant_sink *sink, void *context);
