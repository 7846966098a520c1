// Notifications that go to all who name them, on shard 0: hubs tell each other what agents at them name in their
// capabilities.events, so that each knows for what it isn't up to those who offer the method. Each says so in whole when it
// changes, to whoever has just come, and from time to time.
#pragma once

#include "core/cluster/hub_header.h"
#include "router/features/cluster/link.h"

// Once a turn; once a second.
void interest_follow(struct link *link);
void interest_beat(struct link *link);
// Another hub says what is named there. False: it can't be read.
bool interest_take(struct link *link, const struct hub_header *header, const uint8_t *body, uint32_t bytes);
