// The mailboxes of simulated shards: the router's own code (mailbox.c). A shard may lose its core to another
// one before and behind each look at what both share, and few pieces may fill the ring.
#pragma once

#include "router/engine/shard/hub.h"
#include "router/engine/shard/mailbox.h"

// How many pieces fill a ring from now on: a power of two, from 4 to MAILBOX_MESSAGES. Mailboxes must be
// empty.
void sim_mailbox_room(uint32_t room);
// Returns whether what lies there may be left to a consumer that sleeps: nothing, or, while its producer serves, a few
// parcels that come home.
bool sim_mailbox_may_lie(const struct mailbox *mailbox, enum hub_phase producer);
