// The features that a hub may have, in the order in which they are called (router/engine/shard/feature.h). A new one is
// a row here.
#pragma once

// X(its number, its registration)
#define FEATURE_LIST(X)                                                                                      \
    X(FEATURE_GATE, gate_feature)                                                                            \
    X(FEATURE_CHILDREN, children_feature)                                                                    \
    X(FEATURE_MCP, mcp_feature)                                                                              \
    X(FEATURE_MCP_CALLS, mcp_calls_feature)                                                                  \
    X(FEATURE_MCP_HTTP, mcp_http_feature)                                                                    \
    X(FEATURE_HCS, hcs_feature)                                                                              \
    X(FEATURE_CLUSTER, cluster_feature)                                                                      \
    X(FEATURE_TRACE, trace_feature)                                                                          \
    X(FEATURE_OBSERVE, observe_feature)                                                                      \
    X(FEATURE_OBSERVE_WATCH, observe_watch_feature)                                                          \
    X(FEATURE_HTTP, http_feature)                                                                            \
    X(FEATURE_AUDIT, audit_feature)

enum feature_number {
#define X(number, registration) number,
    FEATURE_LIST(X)
#undef X
        FEATURE_NUMBERS_COUNT
};

struct feature;
#define X(number, registration) extern const struct feature registration;
FEATURE_LIST(X)
#undef X
