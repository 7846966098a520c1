// What a request's head must repeat of its body in MCP's modern era, so that a proxy may rely on the head.
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
// Whether the field Mcp-Param-FIELD equals an argument of the body. The field must be absent where the argument is absent or null.
bool mcp_header_mirrors(const struct mcp_post *post, const char *field, size_t bytes,
                        const struct json_item *argument);
