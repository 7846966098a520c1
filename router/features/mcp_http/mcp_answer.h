// The answer to a call of a client of MCP over HTTP: its status, and its form.
#pragma once

#include "router/features/mcp_http/mcp_client_types.h"

// The status of an answer that is JSON: refused before the request was routed, or 200.
unsigned mcp_answer_status(struct shard *shard, const struct mcp_call *call, const struct parcel *answer);
// Gives a client its answer: takes it. NULL: there is none.
void mcp_answer_give(struct shard *shard, struct mcp_call *call, struct parcel *answer);
