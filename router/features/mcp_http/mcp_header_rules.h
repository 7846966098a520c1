// What the head of a request of MCP's modern era must say of its body, so that whoever stands between may rely on it.
#pragma once

#include "router/features/mcp_http/mcp_post.h"

#define MCP_MODERN_VERSION "2026-07-28"

// Whether a message is of the modern era: its head names a version that isn't one of sessions, its body names one, or it
// asks what a server is.
bool mcp_header_is_modern(const struct mcp_post *post);
// Judges such a message, in the order in which faults count. False: it was refused, which ends the exchange.
bool mcp_header_judge(struct shard *shard, const struct mcp_post *post);
// Refuses with -32020, which ends the exchange. False.
bool mcp_header_refuse(struct shard *shard, const struct mcp_post *post, const char *fault);
// Whether the field Mcp-Param-FIELD is what an argument of the body says: not there where the argument isn't, or is null.
bool mcp_header_mirrors(const struct mcp_post *post, const char *field, size_t bytes,
                        const struct json_item *argument);
