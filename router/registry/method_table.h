// The methods that the engine answers itself, with their properties. Features have rows of their own for their methods
// (engine/shard/feature.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>

// X(enumerator, name, the function that answers it, and three flags)
//
// - The method is answered before initialize, also with --require-initialize.
// - The result may be much larger than the request. Such a method isn't carried out if there is no room for the result.
// - The effect lasts, so the method needs a connection that stays.
#define METHODS(X)                                                                                           \
    X(METHOD_INITIALIZE, "initialize", session_initialize, true, false, false)                               \
    X(METHOD_INITIALIZED, "initialized", session_initialized, true, false, false)                            \
    X(METHOD_SHUTDOWN, "shutdown", session_shutdown, false, false, false)                                    \
    X(METHOD_EXIT, "exit", session_exit, true, false, false)                                                 \
    X(METHOD_CANCEL_REQUEST, "$/cancelRequest", cancel_request_route, true, false, false)                    \
    X(METHOD_CANCEL_REQUEST_ACP, "$/cancel_request", cancel_request_route, true, false, false)               \
    X(METHOD_CANCELLED, "notifications/cancelled", cancel_request_route, true, false, false)                 \
    X(METHOD_AGENT_REGISTER, "agent/register", registration_register, false, false, true)                    \
    X(METHOD_AGENT_UNREGISTER, "agent/unregister", registration_unregister, false, false, false)             \
    X(METHOD_HUB_ATTACH, "hub/attach", attach_connection, false, false, true)                                \
    X(METHOD_HUB_FINISH, "hub/finish", session_finish, false, false, true)                                   \
    X(METHOD_HUB_AGENTS, "hub/agents", directory_agents, false, true, false)                                 \
    X(METHOD_HUB_SUBSCRIBE, "hub/subscribe", subscribe, false, true, true)                                   \
    X(METHOD_HUB_UNSUBSCRIBE, "hub/unsubscribe", unsubscribe, false, false, false)                           \
    X(METHOD_HUB_STATS, "hub/stats", status_stats, false, true, false)                                       \
    X(METHOD_HUB_PING, "hub/ping", status_ping, false, false, false)

enum method {
#define X(method, name, answer, before_initialize, grows, lasts) method,
    METHODS(X)
#undef X
        METHODS_COUNT
};

// All methods with this prefix are the hub's, also unknown ones.
#define METHOD_TABLE_HUB_PREFIX "hub/"

// Returns the method of this name; METHODS_COUNT: not in this table.
enum method method_table_find(const char *name, size_t bytes);
// Returns whether the method begins or ends a session: with the hub, or with the agent to which a connection is
// attached.
static inline bool method_table_is_of_session(enum method method) {
    return method <= METHOD_EXIT;
}
// Returns whether the method has the hub's prefix.
bool method_table_is_of_hub(const char *name, size_t bytes);
// Returns whether an agent may offer this method: not a method of the hub, not a name that begins with hub/, $/ or
// rpc., and not the empty name.
bool method_table_may_be_offered(const char *name, size_t bytes);
