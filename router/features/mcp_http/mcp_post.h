// A message that was POSTed to an MCP path: its head's fields and its body's, each of which two readers must read alike.
#pragma once

#include "core/mcp/mcp_message.h"
#include "router/engine/message/message.h"
#include "router/features/mcp_http/mcp_exchange.h"

// The keys of params that the hub reads here, beside those that it reads of all bodies.
#define MCP_PARAMS(X)                                                                                        \
    X(MCP_PARAM_NAME, "name")                                                                                \
    X(MCP_PARAM_URI, "uri")                                                                                  \
    X(MCP_PARAM_CURSOR, "cursor")                                                                            \
    X(MCP_PARAM_LEVEL, "level")                                                                              \
    X(MCP_PARAM_VERSION, "protocolVersion")

enum mcp_param {
#define X(param, text) param,
    MCP_PARAMS(X)
#undef X
        MCP_PARAMS_COUNT
};

// Members of params._meta, under io.modelcontextprotocol/.
#define MCP_META_KEYS(X)                                                                                     \
    X(MCP_POST_VERSION, "io.modelcontextprotocol/protocolVersion")                                           \
    X(MCP_POST_CAPABILITIES, "io.modelcontextprotocol/clientCapabilities")                                   \
    X(MCP_POST_LOG_LEVEL, "io.modelcontextprotocol/logLevel")

enum mcp_post_meta {
#define X(key, text) key,
    MCP_META_KEYS(X)
#undef X
        MCP_META_KEYS_COUNT
};

struct mcp_post {
    struct mcp_exchange *exchange;
    const uint8_t *head;
    const struct http_request *http;
    bool takes_json, takes_events;
    // Of the body.
    struct frame frame;
    struct unit unit;
    struct message message; // its peer isn't set yet
    struct reply_to to;     // its id, as it came
    enum mcp_method method;
    struct json_item params[MCP_PARAMS_COUNT];
    struct json_item meta[MCP_META_KEYS_COUNT];
};

// Reads what the client takes of answers: false if it takes nothing that there is.
bool mcp_post_accepts(const struct mcp_arrival *arrival, bool *json, bool *events);
// Begins with an arrival, whose content is read. False where it was refused, which ends the exchange.
bool mcp_post_read(struct shard *shard, const struct mcp_arrival *arrival, struct mcp_post *post);
// Makes it a frame to be routed: the header fields that pass stand before the body. The head is lost.
void mcp_post_frame(struct mcp_post *post);
// The exact text of a string of the body, decoded into `out`; SIZE_MAX: it doesn't fit, or is none.
size_t mcp_post_text(const struct mcp_post *post, const struct json_item *item, char *out, size_t capacity);
