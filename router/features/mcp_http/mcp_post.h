// A message that was POSTed to an MCP path: its head's fields and its body's, each of which two readers must read alike.
#pragma once

#include "router/features/mcp_http/mcp_post_types.h"

// Reads what the client takes of answers: false if it takes nothing that there is.
bool mcp_post_accepts(const struct mcp_arrival *arrival, bool *json, bool *events);
// Begins with an arrival, whose content is read. False where it was refused, which ends the exchange.
bool mcp_post_read(struct shard *shard, const struct mcp_arrival *arrival, struct mcp_post *post);
// Reads which server the path of the message's request names: /mcp/NAME, or all at /mcp.
void mcp_post_read_server(struct mcp_post *post, const struct mcp_arrival *arrival);
// Makes it a frame to be routed: the header fields that pass stand before the body. The head is lost.
void mcp_post_frame(struct mcp_post *post);
// The exact text of a string of the body, decoded into `out`; SIZE_MAX: it doesn't fit, or is none.
size_t mcp_post_text(const struct mcp_post *post, const struct json_item *item, char *out, size_t capacity);
