// The table of the hub's error codes (JSON-RPC 2.0 section 5.1; HugAI v2; the hub's own in the range that Hermes leaves
// to extensions; LSP's cancel). Enum, numbers and message texts are made from this table.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ERRORS(X)                                                                                            \
    X(ERROR_PARSE, -32700, "parse error")                                                                    \
    X(ERROR_INVALID_REQUEST, -32600, "invalid request")                                                      \
    X(ERROR_METHOD_NOT_FOUND, -32601, "method not found")                                                    \
    X(ERROR_INVALID_PARAMS, -32602, "invalid params")                                                        \
    X(ERROR_INTERNAL, -32603, "internal error")                                                              \
    X(ERROR_GOVERNANCE_REQUIRED, -32000, "governance required")                                              \
    X(ERROR_NOT_ALLOWED, -32001, "capability not allowed")                                                   \
    X(ERROR_TOOL, -32002, "tool integration error")                                                          \
    X(ERROR_AUDIT, -32003, "audit log failure")                                                              \
    X(ERROR_AGENT_NOT_FOUND, -32010, "agent not found")                                                      \
    X(ERROR_GOVERNANCE_VIOLATION, -32011, "governance violation")                                            \
    X(ERROR_APPROVAL_REQUIRED, -32012, "human approval required")                                            \
    X(ERROR_TARGET_DISCONNECTED, -32050, "target disconnected")                                              \
    X(ERROR_TIMED_OUT, -32051, "timed out")                                                                  \
    X(ERROR_OVERLOADED, -32052, "overloaded")                                                                \
    X(ERROR_AGENT_ID_TAKEN, -32053, "agentId taken")                                                         \
    X(ERROR_NOT_INITIALIZED, -32054, "not initialized")                                                      \
    X(ERROR_FRAME_TOO_LARGE, -32055, "frame too large")                                                      \
    X(ERROR_VERSION, -32056, "protocol version not supported")                                               \
    X(ERROR_CANCELLED, -32800, "cancelled")

enum error {
    ERROR_NONE,
#define X(name, code, text) name,
    ERRORS(X)
#undef X
        ERRORS_COUNT
};

// Returns the number for "code". `error` must not be ERROR_NONE.
int32_t error_code(enum error error);
// Returns the code for MCP's HTTP. MCP reserves -32099 to -32000, so the hub's own codes there are 1,000 higher.
int32_t error_code_mcp(enum error error);
// Returns whether a code over MCP is one of the hub's own (error_code_mcp).
static inline bool error_code_is_hub_mcp(int64_t code) {
    return code >= -31099 && code <= -31000;
}
// Returns the text for "message"; static, plain ASCII without characters that JSON escapes.
const char *error_text(enum error error);
