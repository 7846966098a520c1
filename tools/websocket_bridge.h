// A hub that is reached over WebSocket: the client speaks lines to its bridge. All of it works as over lines,
// half-closing too: answers that the hub still owes then come first.
#pragma once

#include <stdbool.h>

#include "tools/bridge.h"

// Whether this is a URI of such a hub: ws://HOST:PORT[/PATH], or wss:// over TLS.
bool websocket_bridge_is(const char *uri);
// Connects, and shakes hands. 0 with the client's socket, and the bridge behind it. -EINVAL when the URI is
// none, -EACCES when the token (NULL: none) isn't one there, -EPROTO when the server doesn't speak WebSocket,
// or else as tls_bridge_dial.
int websocket_bridge_dial(const char *uri, const char *token, struct bridge **out);
