// POST /rpc: takes one body or batch, and answers with its answers.
#pragma once

#include "router/features/http/http_response.h"

// Returns whether the content's type is one of JSON-RPC.
bool http_rpc_takes(const struct http_call *call);
void http_rpc(struct shard *shard, struct http_call *call);
