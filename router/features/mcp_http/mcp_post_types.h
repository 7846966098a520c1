// A message that was POSTed to an MCP path, after it was read (mcp_post.h).
#pragma once

#include "core/mcp/mcp_message.h"
#include "router/engine/message/message.h"
#include "router/features/mcp_http/mcp_exchange.h"

// The keys of params that the hub reads in a post, beside the keys that the hub reads in all bodies.
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
    bool takes_json, takes_events; // the answers that the client takes (Accept)
    const char *server;            // the path's; 0 bytes: all servers, or the path isn't read yet
    uint32_t server_bytes;
    // From the body.
    struct frame frame;
    struct unit unit;
    struct message message; // without a peer until the message is routed
    struct reply_to to;     // with the request's id, unchanged
    enum mcp_method method;
    struct json_item params[MCP_PARAMS_COUNT];
    struct json_item meta[MCP_META_KEYS_COUNT];
};
