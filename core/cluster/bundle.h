// Several answers as the body of one message between hubs: what stands around a message costs more than a small answer does.
//
//     00000000000012a4 0000005d {"jsonrpc":…
//
// before each answer, without the blanks: the request that it answers and its bytes, in 16 and 8 hexadecimal digits. CR LF stands
// between two of them.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json/json.h"

enum {
    BUNDLE_HEAD_BYTES = 16 + 8,
    BUNDLE_BYTES_MAX = 8 * 1024, // of one, as hubs make them
};

// Writes what stands before an answer of so many bytes.
void bundle_write_head(char out[BUNDLE_HEAD_BYTES], uint64_t number, uint32_t bytes);
// Takes the next answer off the front of what is left of a bundle. False at its end, and where what is left is none (*rest isn't
// empty then).
bool bundle_next(const uint8_t *bytes, struct span *rest, uint64_t *number, struct span *body);
