// The keys of a body that the hub guards. Where one of them occurs twice at its level, or is spelled with an
// escape, two parsers could read the body differently.
#pragma once

// The one table of keys that the hub guards: name, level (0 the top, 1 params, 2 params._meta), spelling.
#define LOOKUP_KEYS(X)                                                                                       \
    X(KEY_JSONRPC, 0, "jsonrpc")                                                                             \
    X(KEY_METHOD, 0, "method")                                                                               \
    X(KEY_ID, 0, "id")                                                                                       \
    X(KEY_PARAMS, 0, "params")                                                                               \
    X(KEY_RESULT, 0, "result")                                                                               \
    X(KEY_ERROR, 0, "error")                                                                                 \
    X(KEY_TARGET_AGENT, 1, "targetAgent")                                                                    \
    X(KEY_SOURCE_AGENT, 1, "sourceAgent")                                                                    \
    X(KEY_PRIORITY, 1, "priority")                                                                           \
    X(KEY_EVENT, 1, "event")                                                                                 \
    X(KEY_TOOL, 1, "tool")                                                                                   \
    X(KEY_APPROVER, 1, "approver")                                                                           \
    X(KEY_AGENT_ID, 1, "agentId")                                                                            \
    X(KEY_PARAMS_ID, 1, "id")                                                                                \
    X(KEY_TOKEN, 1, "token")                                                                                 \
    X(KEY_PROGRESS_TOKEN, 1, "progressToken")                                                                \
    X(KEY_WORK_DONE_TOKEN, 1, "workDoneToken")                                                               \
    X(KEY_PARTIAL_RESULT_TOKEN, 1, "partialResultToken")                                                     \
    X(KEY_META, 1, "_meta")                                                                                  \
    X(KEY_AGENT_SECRET, 1, "agentSecret")                                                                    \
    X(KEY_CHECKPOINT, 1, "checkpoint")                                                                       \
    X(KEY_DECISION, 1, "decision")                                                                           \
    X(KEY_FEEDBACK, 1, "feedback")                                                                           \
    X(KEY_COMMAND, 1, "command")                                                                             \
    X(KEY_REQUEST_ID, 1, "requestId")                                                                        \
    X(KEY_META_PROGRESS_TOKEN, 2, "progressToken")

enum lookup_key {
#define X(name, level, text) name,
    LOOKUP_KEYS(X)
#undef X
        LOOKUP_KEYS_COUNT
};

// A guarded key's name; static.
const char *lookup_key_text(enum lookup_key key);
