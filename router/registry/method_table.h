// The names of the methods that the engine answers itself, and what may be known of each without answering it.
// Methods of features are rows of theirs (engine/shard/feature.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>

// X(enumerator, name, the function that answers it, and four flags)
//
// - The method is served where initialize is required and hasn't come.
// - Its result may be much larger than its request, and it isn't carried out where the result can't be told
// (hub/unsubscribe is).
// - Its effect lasts, so that it needs a connection that stays.
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

// The methods under this are the hub's, those that it doesn't know too.
#define METHOD_TABLE_HUB_PREFIX "hub/"

// The method of this name; METHODS_COUNT: it is none of the hub's.
enum method method_table_find(const char *name, size_t bytes);
// Whether it opens or ends a session with the hub, or with whom a connection is attached to.
static inline bool method_table_is_of_session(enum method method) {
    return method <= METHOD_EXIT;
}
// Whether it is under the hub's prefix.
bool method_table_is_of_hub(const char *name, size_t bytes);
// Whether an agent may offer this method: not the hub's own, nor what begins with hub/, $/ or rpc., nor
// the empty name.
bool method_table_may_be_offered(const char *name, size_t bytes);
