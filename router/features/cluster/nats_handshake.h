// How the hub and its NATS server come to know each other.
#pragma once

#include "router/features/cluster/link.h"

// INFO came, the first one or another.
void nats_handshake_info(struct shard *shard, struct link *link, const uint8_t *bytes, struct span argument);
// The turn in which it came ends, and TLS begins.
void nats_handshake_secure(struct link *link);
// PONG came: what was subscribed before counts, and others may be asked for what isn't here.
void nats_handshake_welcome(struct shard *shard, struct link *link);
// IO_RECEIVED with CLUSTER_TOKEN_RESOLVER.
void nats_handshake_resolved(struct shard *shard, const struct io_event *event);
