// Server-sent events (HTML, section 9.2): a connection of HTTP whose one answer never ends.
#pragma once

#include "router/features/http/http_response.h"

extern const struct transport transport_sse;

// GET /events?pattern=…: the events that these name, as hub/subscribe would.
void sse_events(struct shard *shard, struct http_call *call);
// Begins the answer to the only request under way: a head, and from then on events, by this transport. False
// without memory; the peer is then closed.
bool sse_begin(struct shard *shard, struct peer *peer, struct exchange *exchange,
               const struct transport *transport);
// Implement transport.enter and transport.expire: the stream is never silent for long.
bool sse_enter(struct shard *shard, struct peer *peer);
void sse_expire(struct shard *shard, struct peer *peer);
