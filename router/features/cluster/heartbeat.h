// What hubs tell each other besides messages, on shard 0: that they are there, which requests they took, and whether they owe
// them still.
#pragma once

#include "core/cluster/hub_header.h"
#include "router/features/cluster/link.h"

// Once a second: this hub beats, those that are silent for too long have gone, who owes something or has asked for something
// is asked whether that still is so, and all are asked after requests that nobody took.
void heartbeat_beat(struct link *link);
// The hub ends: all others are told, behind all else that is said there.
void heartbeat_farewell(struct shard *shard);
// A message came that bears this mark: its hub is there.
void heartbeat_heard(struct link *link, const struct hub_header *header);
// What another hub says, to this one or to all.
void heartbeat_take(struct link *link, const uint8_t *bytes, const struct hub_header *header);
// It was a beat, behind that: who isn't known now couldn't be, for want of a place.
void heartbeat_beaten(struct link *link, const struct hub_header *header);
// A hub is there no more: what it had ends, and what it asked is cancelled.
void heartbeat_hub_gone(struct link *link, const char hub[HUB_NAME_BYTES]);
// What another hub asked under this number, as far as it has been forwarded and not answered; NULL: it hasn't.
struct pending *heartbeat_pending(struct link *link, const char hub[HUB_NAME_BYTES], uint64_t number);
