// Identifies the user of an HTTP request, with a users file: each request has its own Authorization.
#pragma once

#include "core/wire/http_request.h"
#include "router/engine/shard/hub.h"
#include "router/features/http/http_response.h"
#include "router/features/http/http_routes.h"

// Returns whether the request may go on. From then until http_forget_user, the peer has the request's user. Returns
// false if the request has been answered, or will be.
bool http_admit(struct shard *shard, struct http_call *call, const struct http_route *route);
// Returns whether the user of an admitted request may use this route. Otherwise answers the request.
bool http_admit_to(struct shard *shard, struct http_call *call, const struct http_route *route);
// Overwrites the Authorization field in its buffer, once it has been checked.
void http_erase_credential(const struct http_call *call);
// Forgets the user of a request that has been served. A WebSocket or stream on this connection keeps its user.
void http_forget_user(struct peer *peer);
// Implements peer_ops.end: answers the request of a wrong credential before the connection ends.
bool http_end(struct shard *shard, struct peer *peer, enum peer_end_reason why);
// Implements codec.admits.
bool http_admits(struct shard *shard, struct peer *peer, const uint8_t *bytes);
