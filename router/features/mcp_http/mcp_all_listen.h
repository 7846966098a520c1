// Serves `subscriptions/listen` at /mcp: subscribes at each server, and sends the client one acknowledgement.
#pragma once

#include "router/features/mcp_http/mcp_gather.h"

// Subscribes at all servers of a gather.
void mcp_all_listen_begin(struct shard *shard, struct mcp_gather *gather);
// Ends a subscription with a result, and cancels the subscriptions at the servers.
void mcp_all_listen_part(struct shard *shard, struct mcp_gather *gather);
