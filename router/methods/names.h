// The names of the methods that the hub answers itself, and what may be known of each without answering it.
// A new one is a row here, and a function of that name where it belongs (methods.c includes its header).
#pragma once

#include <stdbool.h>
#include <stddef.h>

// X(enumerator, name, the function that answers it, whether it is served where initialize is required and
// hasn't come, whether its result may be much larger than what asks for it)
#define METHODS(X)                                                                                           \
    X(METHOD_INITIALIZE, "initialize", session_initialize, true, false)                                      \
    X(METHOD_INITIALIZED, "initialized", session_initialized, true, false)                                   \
    X(METHOD_SHUTDOWN, "shutdown", session_shutdown, false, false)                                           \
    X(METHOD_EXIT, "exit", session_exit, true, false)                                                        \
    X(METHOD_CANCEL_REQUEST, "$/cancelRequest", cancelling_request, true, false)                             \
    X(METHOD_CANCELLED, "notifications/cancelled", cancelling_request, true, false)                          \
    X(METHOD_AGENT_REGISTER, "agent/register", registration_register, false, false)                          \
    X(METHOD_AGENT_UNREGISTER, "agent/unregister", registration_unregister, false, false)                    \
    X(METHOD_HUB_AGENTS, "hub/agents", directory_agents, false, true)                                        \
    X(METHOD_HUB_SUBSCRIBE, "hub/subscribe", subscribe, false, true)                                         \
    X(METHOD_HUB_UNSUBSCRIBE, "hub/unsubscribe", unsubscribe, false, true)                                   \
    X(METHOD_HUB_STATS, "hub/stats", status_stats, false, true)                                              \
    X(METHOD_HUB_PING, "hub/ping", status_ping, false, false)

enum method {
#define X(method, name, answer, before_initialize, grows) method,
    METHODS(X)
#undef X
        METHODS_COUNT
};

// The methods under this are the hub's, those that it doesn't know too.
#define NAMES_HUB_PREFIX "hub/"

// The method of this name; METHODS_COUNT: it is none of the hub's.
enum method names_find(const char *name, size_t bytes);
// Whether it is served where initialize is required and hasn't come.
bool names_before_initialize(enum method method);
// Whether its result may be much larger than what asks for it.
bool names_result_grows(enum method method);
// Whether it is under the hub's prefix.
bool names_is_of_hub(const char *name, size_t bytes);
// Whether an agent may offer this method: not the hub's own, nor what begins with hub/, $/ or rpc., nor
// the empty name.
bool names_may_be_offered(const char *name, size_t bytes);
