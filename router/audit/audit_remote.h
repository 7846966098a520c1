// The journal's line for a refusal at another hub: the line that it would have here.
#pragma once

#include "router/engine/shard/peer.h"

// An answer has come from a hub that refused a request; for governance or authorization it enters the journal. The request must have been
// kept (router/engine/message/message_copy.h).
void audit_remote_refused(struct shard *shard, struct peer *source, const struct pending *pending,
                          const struct parcel *answer);
