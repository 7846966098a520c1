// Header fields that hold for all that a connection sends: those of the request by which a WebSocket came.
#pragma once

#include "router/engine/shard/peer.h"

// Whether there are none.
bool websocket_headers_is_plain(const struct directives *directives);
// Routes a message under its peer's standing fields. A receiver with a header block gets them in it: so a message
// that may have one is copied behind such a block.
void websocket_headers_route(struct shard *shard, struct peer *peer, const struct frame *frame);
