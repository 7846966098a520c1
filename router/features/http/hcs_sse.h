// A client's stream of an HCS session: server-sent events, of which each bears the frame's type and a place to
// come back to (Last-Event-ID).
#pragma once

#include "router/features/hcs/hcs_http_ingress.h"

extern const struct transport transport_hcs;

// Asks for a session in the name of the only request under way. HCS_HTTP_JOINING: the request will be
// answered, or has been. Else as hcs_http_open, and the peer still speaks HTTP.
enum hcs_http_opening hcs_sse_open(struct shard *shard, struct peer *peer, const struct hcs_query *query,
                                   struct parcel **error);
