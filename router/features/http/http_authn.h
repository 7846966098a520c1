// Tells who a request of HTTP is from, where users are on: its Authorization says so, for itself alone.
#pragma once

#include "core/wire/http_request.h"
#include "router/engine/shard/hub.h"
#include "router/features/http/http_response.h"
#include "router/features/http/http_routes.h"

// Returns whether the request may go on. From here on until http_forget_user the peer speaks for the user that the request
// names. False: the request was answered, or will be.
bool http_admit(struct shard *shard, struct http_call *call, const struct http_route *route);
// Whether the request, which was admitted, may be served by this route, which perhaps takes the connection over.
bool http_admit_to(struct shard *shard, struct http_call *call, const struct http_route *route);
// Overwrites the Authorization where it lies, once it has been judged.
void http_erase_credential(const struct http_call *call);
// Forgets the user of a request that has been served. A WebSocket or stream that the connection has become
// keeps its user, HTTP has none.
void http_forget_user(struct peer *peer);
// Implements transport.end: an unknown peer's request, whose credential is wrong, is answered before the end.
bool http_end(struct shard *shard, struct peer *peer, enum peer_end_reason why);
// Implements transport.admits.
bool http_admits(struct shard *shard, struct peer *peer, const uint8_t *bytes);

// --- Hosts and origins
//
// Judges whether a browser may speak to the hub: a page of another site must not, though the browser that
// shows it can reach the hub. Host tells a name that an attacker has pointed here (DNS rebinding), Origin and
// Sec-Fetch-Site tell another page's request.

struct http_origin {
    const char *fault;  // what is wrong, static; NULL: nothing
    const char *origin; // that is allowed by name, and may read answers; NULL: none
};

// Judges the head of a request.
struct http_origin http_origin_check(const struct hub_settings *settings, const uint8_t *head,
                                     const struct http_request *request);
