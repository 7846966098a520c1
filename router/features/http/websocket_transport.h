// WebSocket (RFC 6455): a transport whose bodies are text messages. An HTTP upgrade begins it, and the upgrade's header
// fields hold for each message.
#pragma once

#include "router/features/http/http_response.h"

extern const struct transport transport_websocket;

// Returns whether a request asks for an upgrade to WebSocket, also if the upgrade must be refused.
bool websocket_is_upgrade(const struct http_call *call);
// Serves GET /ws.
void websocket_upgrade(struct shard *shard, struct http_call *call);
