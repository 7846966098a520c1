// Checks that a request's head repeats parts of its body, as MCP's modern era demands, so that a proxy may rely on the
// head.
#pragma once

#include "router/features/mcp_http/mcp_post.h"

#define MCP_MODERN_VERSION "2026-07-28"

// Returns whether a message is of the modern era: its head names a version that isn't legacy, its body names a version,
// or the message is server/discover.
bool mcp_header_is_modern(const struct mcp_post *post);
// Checks a message of the modern era, in the order in which faults count. Returns false if the message was refused,
// which ends the exchange.
bool mcp_header_judge(struct shard *shard, const struct mcp_post *post);
// Refuses a message with -32020, which ends the exchange. Returns false.
bool mcp_header_refuse(struct shard *shard, const struct mcp_post *post, const char *fault);
// Returns whether the field Mcp-Param-FIELD equals an argument of the body. The field must be absent where the argument
// is absent or null.
bool mcp_header_mirrors(const struct mcp_post *post, const char *field, size_t bytes,
                        const struct json_item *argument);
