// Events that went nowhere, because a mailbox was full or memory used up. Their subscribers on all shards are
// told that they missed them, when there is room for that. Events of one name and source are told of
// together.
//
// Success: each event is known by its name until then, so that exactly those subscribers are told that would
// have got it. Failure: there is no memory for the names, not even in the shard's reserve. Then those events
// are counted alone, and told to all who subscribed to anything: too much, but not in silence.
#pragma once

#include "router/events/publication.h"

// Notes that all of the event's subscribers miss it, for the reason that `counter` names.
void missed_events_add(struct shard *shard, const struct event *event, enum counter counter);
// Takes one out that is to be told, without copies yet, or NULL.
struct publication *missed_events_take(struct shard *shard);
