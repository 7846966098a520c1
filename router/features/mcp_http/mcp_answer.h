// Decides the status and the form of the answer to a call of MCP over HTTP.
#pragma once

#include "router/features/mcp_http/mcp_client_types.h"

// Returns the HTTP status of an answer in JSON. 200 unless the hub refused the request before a server got it, or the
// error has a status of its own in the modern era.
unsigned mcp_answer_status(struct shard *shard, const struct mcp_call *call, const struct parcel *answer);
// Gives a call's client the answer, which is taken. NULL: there is no answer.
void mcp_answer_give(struct shard *shard, struct mcp_call *call, struct parcel *answer);
