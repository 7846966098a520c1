// Messages of the Model Context Protocol, as far as the hub reads them to share one server among many clients.
//
// There are two eras. Legacy (2024-11-05 to 2025-11-25): `initialize` opens a session, which has a state. Modern
// (2026-07-28): there are no sessions, and each request has all it needs in params._meta. A server's process uses one
// era.
#pragma once

#include "core/base/text.h"
#include "core/lookup/lookup.h"

enum mcp_era { MCP_LEGACY, MCP_MODERN, MCP_ERAS_COUNT };

// X(enumerator, name): the methods that the hub handles specially.
#define MCP_METHODS(X)                                                                                       \
    X(MCP_INITIALIZE, "initialize")                                                                          \
    X(MCP_INITIALIZED, "notifications/initialized")                                                          \
    X(MCP_PING, "ping")                                                                                      \
    X(MCP_DISCOVER, "server/discover")                                                                       \
    X(MCP_LISTEN, "subscriptions/listen")                                                                    \
    X(MCP_SUBSCRIBE, "resources/subscribe")                                                                  \
    X(MCP_UNSUBSCRIBE, "resources/unsubscribe")                                                              \
    X(MCP_SET_LEVEL, "logging/setLevel")                                                                     \
    X(MCP_ROOTS, "roots/list")                                                                               \
    X(MCP_CANCELLED, "notifications/cancelled")                                                              \
    X(MCP_PROGRESS, "notifications/progress")                                                                \
    X(MCP_LOG, "notifications/message")

enum mcp_method {
#define X(method, name) method,
    MCP_METHODS(X)
#undef X
        MCP_OTHER,
};

// Members that the protocol keeps in _meta, under io.modelcontextprotocol/.
enum mcp_meta { MCP_META_VERSION, MCP_META_LOG_LEVEL, MCP_META_SUBSCRIPTION };

// The legacy version that the hub requests from a server.
#define MCP_LEGACY_VERSION "2025-11-25"

// Returns the legacy version with this text: 1 for the oldest; 0: the text is no legacy version.
uint32_t mcp_legacy_version(const char *text, size_t bytes);
// Returns the text of a version, as a JSON string.
const char *mcp_legacy_version_text(uint32_t version);
// Returns the method of this decoded name.
enum mcp_method mcp_method(const char *name, size_t bytes);
// Returns the era of a client's request or notification. Modern: server/discover, and messages with a version in _meta.
enum mcp_era mcp_era(const uint8_t *body, const struct lookup *lookup, enum mcp_method method);
// Returns this member of params._meta; type JSON_NONE: there is none.
struct json_item mcp_meta(const uint8_t *body, const struct lookup *lookup, enum mcp_meta kind);
// Returns the subscription id in the result of a response; type JSON_NONE: there is none.
struct json_item mcp_result_subscription(const uint8_t *body, const struct lookup *lookup);
// Returns the string params.uri, or another string member of params; type JSON_NONE: there is none.
struct json_item mcp_uri(const uint8_t *body, const struct lookup *lookup);
struct json_item mcp_text(const uint8_t *body, const struct lookup *lookup, const char *key);
// Returns the hub's request id in such a value, a number or a string of digits; 0: the value isn't an id of the hub.
uint64_t mcp_id(const uint8_t *body, const struct json_item *item);
// Returns whether the error of a response is one that only a modern server sends.
bool mcp_error_is_modern(const uint8_t *body, const struct lookup *lookup);

// Writes `initialize`, which opens the hub's session at a legacy server. With `has_requests` the server may send
// requests to clients (sampling, elicitation). Roots are never offered: a shared server would use one client's roots
// for all clients.
void mcp_put_initialize(struct text *out, uint64_t id, bool has_requests);
// Writes the notification that the session is open.
void mcp_put_initialized(struct text *out);
// Writes the notification that a list has changed: of tools, prompts or resources.
void mcp_put_list_changed(struct text *out, const char *list);
// Writes a body with `own` in the place of the subscription id at `item`. `own` is the id that the client chose, as
// JSON, written as a string if `item` is one.
void mcp_put_restored(struct text *out, const uint8_t *body, size_t bytes, const struct json_item *item,
                      const char *own, size_t own_bytes);
// Writes the cancel of the request that was forwarded under `id`.
void mcp_put_cancelled(struct text *out, uint64_t id, const char *reason);
