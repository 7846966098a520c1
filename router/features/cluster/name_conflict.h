// What two hubs hold both of them, since they were apart, or one wasn't heard in time, on shard 0. The lesser of the two, by its
// name, asks the other one what it holds, part by part, as often as it takes until all has been told and nothing of it is held
// here. It alone judges, so that both can't think that they stay: who has held the name for longer does, by the time that
// each has measured itself; a child always does. Both keep what children of that name both have.
#pragma once

#include "core/cluster/hub_header.h"
#include "router/features/cluster/link.h"

// Something may be held there and here.
void name_conflict_begin(struct link *link, struct cluster_member *remote);
// Once a turn; and once a second what wasn't answered is asked again.
void name_conflict_follow(struct link *link);
void name_conflict_beat(struct link *link);
// What another hub says to this one alone. False: it can't be read.
bool name_conflict_take(struct link *link, const struct hub_header *header, const uint8_t *body,
                        uint32_t bytes);
