// Cancels of other hubs' sources, in their own words (outbound_cancel.h), on shard 0.
#pragma once

#include "core/wire/nats.h"
#include "router/features/cluster/link.h"

// One has come of the request that its hub knows by this number.
void inbound_cancel_take(struct link *link, const struct frame *frame, const struct nats_message *said,
                         uint64_t number);
