// Does the opening handshake of a WebSocket client (RFC 6455, section 4.1).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tools/bridge_socket.h"

enum { WEBSOCKET_ANSWER_BYTES_MAX = 16 * 1024 };

// Asks for the path on a fresh blocking connection, with the token unless NULL, and reads the answer. Returns 0; the
// *rest bytes after the answer are moved to the start of `answer`. Returns -EACCES if the server refuses the token,
// -EPROTO if it doesn't offer WebSocket there, or -errno.
int websocket_open(struct bridge_socket *hub, const char *host, const char *path, const char *token,
                   uint8_t answer[WEBSOCKET_ANSWER_BYTES_MAX], size_t *rest);
