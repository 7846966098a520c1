// A hub that is reached over TLS.
#pragma once

#include "tools/bridge.h"
#include "tools/hub_address.h"

// Connects to a secure place, and shakes hands. The client's socket, and the bridge behind it; -EKEYREJECTED when TLS
// fails, of which it has been said why, or else as hub_address_dial.
int tls_bridge_dial(const struct hub_address *hub, struct bridge **out);
// The same over a connected socket, which is the bridge's then, or closed.
int tls_bridge_begin(int connected, const struct hub_address *hub, struct bridge **out);
