// What the server says to the hub, and other hubs through it: its transport, on shard 0.
#pragma once

#include "router/features/cluster/link.h"

extern const struct transport transport_nats;

// The link's timer has gone off.
void nats_tick(struct shard *shard, struct timer *timer);
// Where a turn begins, before anything that came is read: a hub that stood still drops its link.
void nats_awake(struct shard *shard);
// Once a turn, before what is queued is sent; where there is a link.
void nats_follow(struct shard *shard);
