// Requests and notifications of other hubs, and of clients that are none, on shard 0: how they come.
#pragma once

#include "core/wire/nats.h"
#include "router/engine/message/message.h"
#include "router/features/cluster/link.h"

// One came for whoever `token`, in a subject of this kind, names.
void inbound_request_take(struct shard *shard, struct link *link, const struct frame *frame,
                          const struct nats_message *said, enum subject_kind kind, struct span token);
// As struct transport has it.
bool inbound_request_vets(struct shard *shard, const struct message *message);
