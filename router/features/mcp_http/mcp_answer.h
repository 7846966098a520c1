// Decides the status and the form of the answer to a call of MCP over HTTP.
#pragma once

#include "router/features/mcp_http/mcp_client_types.h"

// Returns the HTTP status of an answer in JSON. The status is 200, unless the hub refused the request before a server
// got it. In the modern era some errors have statuses of their own, too.
unsigned mcp_answer_status(struct shard *shard, const struct mcp_call *call, const struct parcel *answer);
// Gives a call's client the answer, which is taken. NULL: there is no answer.
void mcp_answer_give(struct shard *shard, struct mcp_call *call, struct parcel *answer);
