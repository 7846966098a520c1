// The mask of a WebSocket frame (RFC 6455 section 5.3).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEBSOCKET_MASK_BYTES = 4 };

// Takes the mask off `count` bytes at `from`, each read and written once, and puts them at `to`: `from` itself,
// or anywhere before it. The mask then stands as the next byte behind them needs it. Returns whether all that
// came out is ASCII.
bool websocket_mask_off(uint8_t *to, const uint8_t *from, size_t count, uint8_t mask[WEBSOCKET_MASK_BYTES]);
