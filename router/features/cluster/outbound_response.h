// Answers to requests of this hub's, as other hubs, or the server, give them.
#pragma once

#include "core/wire/nats.h"
#include "router/features/cluster/link.h"

// 0: which request it answers it says itself; where it doesn't, it is nobody's.
void outbound_response_take(struct shard *shard, struct link *link, const struct frame *frame,
                            const struct nats_message *said, uint64_t number);
