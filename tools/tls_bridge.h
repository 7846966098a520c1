// A bridge to a hub that is reached over TLS.
#pragma once

#include "tools/bridge.h"
#include "tools/hub_address.h"

// Connects to a hub, and does the TLS handshake. Returns the client's socket, and sets *out to the bridge behind it.
// Returns -EKEYREJECTED if TLS fails, after printing why, or else as hub_address_dial.
int tls_bridge_dial(const struct hub_address *hub, struct bridge **out);
// Does the same over a connected socket, which the bridge owns then. After a failure the socket is closed.
int tls_bridge_begin(int connected, const struct hub_address *hub, struct bridge **out);
