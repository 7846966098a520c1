// POST /rpc: one body or batch in, its answer out.
#pragma once

#include "router/features/http/http_response.h"

// Whether the content is of a type that JSON-RPC has.
bool http_rpc_takes(const struct http_call *call);
void http_rpc(struct shard *shard, struct http_call *call);
