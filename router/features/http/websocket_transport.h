// WebSocket (RFC 6455): a peer like any other, whose bodies are text messages. The connection comes by an
// upgrade of HTTP, whose header fields then hold for each of its messages.
#pragma once

#include "router/features/http/http_response.h"

extern const struct transport transport_websocket;

// Whether an upgrade to it is asked for, be it as it can't be done.
bool websocket_is_upgrade(const struct http_call *call);
// GET /ws.
void websocket_upgrade(struct shard *shard, struct http_call *call);
