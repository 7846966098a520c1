// Removes the mask of a WebSocket frame (RFC 6455 section 5.3).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEBSOCKET_MASK_BYTES = 4 };

// Unmasks `count` bytes at `from`, reading and writing each once, and puts the bytes at `to`: at `from`, or anywhere
// before it. Turns the mask for the next byte behind these. Returns whether all unmasked bytes are ASCII.
bool websocket_mask_off(uint8_t *to, const uint8_t *from, size_t count, uint8_t mask[WEBSOCKET_MASK_BYTES]);
