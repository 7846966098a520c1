// Cancels of other hubs' sources, in their own words (recalling.h), on shard 0.
#pragma once

#include "core/wire/nats.h"
#include "router/transport/link.h"

// One has come of the request that its hub knows by this number.
void recalled_take(struct link *link, const struct frame *frame, const struct nats_message *said,
                   uint64_t number);
