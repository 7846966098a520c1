// A client's stream of an HCS session: server-sent events, of which each bears the frame's type and a place to
// come back to (Last-Event-ID).
#pragma once

#include "router/stream/web.h"

extern const struct transport transport_hcs;

// Asks for a session in the name of the only request under way. STREAMS_JOINING: it will be answered, or has been. Else as
// streams_open, and the peer still speaks HTTP.
enum streams_opening hcs_open(struct shard *shard, struct peer *peer, const struct stream_query *query,
                              struct parcel **error);
