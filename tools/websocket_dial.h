// The opening handshake of a WebSocket's client (RFC 6455 section 4.1).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tools/bridge_socket.h"

enum { WEBSOCKET_ANSWER_BYTES_MAX = 16 * 1024 };

// Asks for the path on a fresh blocking connection, with the token where it isn't NULL, and reads the answer.
// 0, with the *rest bytes behind the answer, moved to the begin of `answer`. -EACCES when the server wants
// another token, -EPROTO when it wants no WebSocket there, or -errno.
int websocket_open(struct bridge_socket *hub, const char *host, const char *path, const char *token,
                   uint8_t answer[WEBSOCKET_ANSWER_BYTES_MAX], size_t *rest);
