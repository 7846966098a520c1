// Cancels that cross, on shard 0: a source's own goes to the hub that took the request as it would go to a target here, with its
// header fields and whatever else it says, ahead of what waits; it comes to patchbay.CLUSTER.hub.HUB.c.NUMBER.
#pragma once

#include "router/features/cluster/link.h"

// The cancel that is queued next is about this request, as the link knows it (outbound_request.c).
void outbound_cancel_begin(struct link *link, const struct outbound_request *outbound);
// One is queued for the link. True: it isn't one, or is kept until somebody says that he took the request, and has been let go.
bool outbound_cancel_divert(struct link *link, struct parcel *parcel);
// Somebody has: he is told, in the source's words if there are any.
void outbound_cancel_tell(struct link *link, struct outbound_request *outbound);
