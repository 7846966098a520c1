// Reads a message that was POSTed to an MCP path. Refuses a message that two readers could read differently.
#pragma once

#include "router/features/mcp_http/mcp_post_types.h"

// Reads from the head whether the client takes JSON, and a stream of events. Returns false if the client takes neither.
bool mcp_post_accepts(const struct mcp_arrival *arrival, bool *json, bool *events);
// Makes a post of an arrival: reads which answers the client takes, and the body. Returns false if the arrival was
// refused, which ends the exchange.
bool mcp_post_read(struct shard *shard, const struct mcp_arrival *arrival, struct mcp_post *post);
// Reads which server the path names: /mcp/NAME, or all servers at /mcp.
void mcp_post_read_server(struct mcp_post *post, const struct mcp_arrival *arrival);
// Makes the post a frame to be routed: writes the header fields that pass before the body. Overwrites the head.
void mcp_post_frame(struct mcp_post *post);
// Decodes a string of the body into `out`, and returns its length; SIZE_MAX: the text doesn't fit, or the item is no
// string.
size_t mcp_post_text(const struct mcp_post *post, const struct json_item *item, char *out, size_t capacity);
