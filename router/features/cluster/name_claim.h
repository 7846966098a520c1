// An agentId is held once in a cluster, on shard 0: before a registration counts all other hubs are asked whether they hold the
// name. One that asks for it itself, and comes first by its own name, says so, too; one that comes later gives way at once. What
// hasn't been answered in time counts as a no, and is settled later (name_conflict.h).
#pragma once

#include "core/cluster/hub_header.h"
#include "router/features/cluster/link.h"

// Once a turn: asks what is to be asked; without a link nobody is.
void name_claim_follow(struct link *link);
// What has waited too long waits no more.
void name_claim_expire(struct link *link);
// When that is so for the next one; UINT64_MAX: for none.
uint64_t name_claim_due_ms(const struct link *link);
// Another hub asks for a name, as in a subject. False: it can't be read.
bool name_claim_take(struct link *link, const uint8_t *bytes, const struct hub_header *header,
                     struct span token);
// What another hub answers; or the server, where there is none.
void name_claim_hear(struct link *link, const uint8_t *bytes, const struct hub_header *header);
void name_claim_nobody(struct link *link, uint64_t number);
