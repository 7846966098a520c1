// `subscriptions/listen` at /mcp: one at each server, and one acknowledgement for the client.
#pragma once

#include "router/features/mcp_http/mcp_gather.h"

// Subscribes at all servers of a gather.
void mcp_all_listen_begin(struct shard *shard, struct mcp_gather *gather);
// Ends a subscription in good order.
void mcp_all_listen_part(struct shard *shard, struct mcp_gather *gather);
