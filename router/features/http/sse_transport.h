// Server-sent events (HTML, section 9.2): an HTTP connection whose only answer never ends.
#pragma once

#include "router/features/http/http_response.h"

extern const struct transport transport_sse;

// Serves GET /events?pattern=…: sends the events of these patterns, as hub/subscribe does.
void sse_events(struct shard *shard, struct http_call *call);
// Begins the answer to the connection's only request: sends a head, and changes the peer to this transport. Returns
// false without memory: then the peer is closed.
bool sse_begin(struct shard *shard, struct peer *peer, struct exchange *exchange,
               const struct transport *transport);
// Implement peer_ops.enter and peer_ops.expire: a timer sends a comment on a silent stream.
bool sse_enter(struct shard *shard, struct peer *peer);
void sse_expire(struct shard *shard, struct peer *peer);
