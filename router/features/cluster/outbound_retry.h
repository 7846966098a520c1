// A request for one of a group that a hub has refused for a reason of its own: there may be members at other hubs that can serve it. They
// are asked one after the other, each once, and by its name. Whoever refused it had it reach nobody, so it still is done at most
// once. Where none takes it, it ends as the first one has said.
#pragma once

#include "core/cluster/hub_header.h"
#include "core/wire/frame.h"
#include "router/features/cluster/link.h"

// Whether that hub may have it: who has taken it, else whoever was asked last. What others still say of it is nobody's.
bool outbound_retry_may_have(const struct outbound_request *outbound, const char hub[HUB_NAME_BYTES]);
// Keeps what a hub says instead of taking a request. False: it is the answer.
bool outbound_retry_keep(struct link *link, struct outbound_request *outbound,
                         const struct hub_header *header, const struct frame *said);
// The next one is to be asked. False: there is none, or no memory to ask it.
bool outbound_retry_next(struct link *link, struct outbound_request *outbound);
