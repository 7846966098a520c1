// Who a request of HTTP is from, where users are on: its Authorization says so, for itself alone.
#pragma once

#include "router/features/http/http_call.h"
#include "router/features/http/http_routes.h"

// Whether the request may go on: from here on until http_forget_user its peer speaks for whom it names. Else it was
// answered, or will be.
bool http_admit(struct shard *shard, struct http_call *call, const struct http_route *route);
// Whether the request, which was admitted, may be served by this route, which perhaps takes the connection over.
bool http_admit_to(struct shard *shard, struct http_call *call, const struct http_route *route);
// What its Authorization says has been judged: it is overwritten where it lies.
void http_blot_credential(const struct http_call *call);
// It has been served: what its connection has become stays with its user, HTTP knows nobody.
void http_forget_user(struct peer *peer);
// As transport.deny.
void http_deny(struct shard *shard, struct peer *peer, bool in_request);
// As transport.admits.
bool http_admits(struct shard *shard, struct peer *peer, const uint8_t *bytes);
