// Messages of the Model Context Protocol, as far as a hub reads them that shares one server among many clients.
//
// There are two eras. Legacy (2024-11-05 to 2025-11-25): a session is opened by `initialize` and has a state.
// Modern (2026-07-28): there is no session, and each request says in params._meta what it needs. A server
// speaks one of them a process.
#pragma once

#include "core/base/text.h"
#include "core/lookup/lookup.h"

enum mcp_era { MCP_LEGACY, MCP_MODERN, MCP_ERAS_COUNT };

// X(enumerator, name): the methods that aren't passed on like any other.
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

// The version of the legacy era that the hub asks a server for.
#define MCP_LEGACY_VERSION "2025-11-25"

// The version of the legacy era that this text names: 1 for the oldest. 0: it names none.
uint32_t mcp_legacy_version(const char *text, size_t bytes);
// Returns the text of a version, as a JSON string.
const char *mcp_legacy_version_text(uint32_t version);
// The method of this name, decoded.
enum mcp_method mcp_method(const char *name, size_t bytes);
// The era of a request or notification that a client sent: modern is what names its version in _meta, and
// server/discover.
enum mcp_era mcp_era(const uint8_t *body, const struct lookup *lookup, enum mcp_method method);
// Returns this member of params._meta; type JSON_NONE: there is none.
struct json_item mcp_meta(const uint8_t *body, const struct lookup *lookup, enum mcp_meta kind);
// The subscription that the result of a response is of; likewise.
struct json_item mcp_result_subscription(const uint8_t *body, const struct lookup *lookup);
// The string params.uri, or another such member; likewise.
struct json_item mcp_uri(const uint8_t *body, const struct lookup *lookup);
struct json_item mcp_text(const uint8_t *body, const struct lookup *lookup, const char *key);
// The id that such a value says, as a number or as a string of its digits; 0: none that the hub gives.
uint64_t mcp_id(const uint8_t *body, const struct json_item *item);
// Whether the error of a response is one that only a server of the modern era gives.
bool mcp_error_is_modern(const uint8_t *body, const struct lookup *lookup);

// Write the hub's own messages to a server: the request that opens the hub's session at a legacy server, the notification
// that the session is open, and the cancel of a request that was forwarded under `id`. With `has_requests` the server may
// ask clients (sampling, elicitation). Roots are never offered: a server that clients share would take one client's roots
// for everybody's.
void mcp_put_initialize(struct text *out, uint64_t id, bool has_requests);
void mcp_put_initialized(struct text *out);
// A notification that a list is another one now: of tools, prompts or resources.
void mcp_put_list_changed(struct text *out, const char *list);
// A body with another subscription in the place of the one at `item`: the id that its user chose, JSON, as a string
// where it came as one.
void mcp_put_restored(struct text *out, const uint8_t *body, size_t bytes, const struct json_item *item,
                      const char *own, size_t own_bytes);
void mcp_put_cancelled(struct text *out, uint64_t id, const char *reason);
