// The proof that a server has read a WebSocket's opening handshake (RFC 6455 section 4.2.2).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEBSOCKET_KEY_BYTES = 24, WEBSOCKET_ACCEPT_BYTES = 28 };

// Writes the Sec-WebSocket-Accept for a Sec-WebSocket-Key, without a NUL; false where that isn't 16 bytes in base64,
// or no memory is left.
bool websocket_accept(const uint8_t *key, size_t count, char out[WEBSOCKET_ACCEPT_BYTES]);
