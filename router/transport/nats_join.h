// How the hub and its NATS server come to know each other.
#pragma once

#include "router/transport/link.h"

// INFO came, the first one or another.
void nats_join_info(struct shard *shard, struct link *link, const uint8_t *bytes, struct span argument);
// The turn in which it came ends, and TLS begins.
void nats_join_secure(struct link *link);
// PONG came: what was subscribed before counts, and others may be asked for what isn't here.
void nats_join_welcome(struct shard *shard, struct link *link);
// IO_RECEIVED with TOKEN_RESOLVER.
void nats_join_resolved(struct shard *shard, const struct io_event *event);
