// A bridge to a hub that is reached over WebSocket. The client speaks lines to the bridge, half-closing too: the hub's
// pending answers come before the end.
#pragma once

#include <stdbool.h>

#include "tools/bridge.h"

// Returns whether a URI is of such a hub: ws://HOST:PORT[/PATH], or wss:// over TLS.
bool websocket_bridge_is(const char *uri);
// Connects, and does the handshake. Returns the client's socket, and sets *out to the bridge behind it. Returns -EINVAL
// if the URI is malformed, -EACCES if the server refuses the token (NULL: none), -EPROTO if the server doesn't speak
// WebSocket, or else as tls_bridge_dial.
int websocket_bridge_dial(const char *uri, const char *token, struct bridge **out);
