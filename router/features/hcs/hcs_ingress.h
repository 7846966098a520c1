// How frames come in, on the shard of the connection that they came on.
#pragma once

#include "router/engine/message/message.h"
#include "router/engine/shard/peer.h"
#include "router/features/hcs/hcs_client.h"

enum { HCS_INGRESS_MADE_UP_BYTES = 2 * SIPHASH_BYTES };

// A body that is a frame of HCS, and no member of a batch.
void hcs_ingress_route(struct shard *shard, const struct message *message);
// Gives a start the name of a session that nobody can guess, of HCS_INGRESS_MADE_UP_BYTES at `id`. The session
// will live on this shard.
void hcs_ingress_generate(struct shard *shard, char *id, struct hcs_start_fields *fields);
