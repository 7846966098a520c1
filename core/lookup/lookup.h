// The routing fields of a body, looked up lazily. The top level, `params` and `params._meta` are read, in any
// key order, and deeper levels are skipped over. Nothing is copied and nothing built: the result is spans of
// the body.
//
// A body that two parsers could read differently where routing depends on it is refused here: the body isn't UTF-8, or
// a key of LOOKUP_KEYS occurs twice at its level or is spelled with an escape.
//
// The lookup has two depths. The lazy one doesn't judge levels deeper than those that it reads, the strict
// one judges all of the body.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json/json.h"

// The keys of a body that the hub guards. Where one of them occurs twice at its level, or is spelled with an
// escape, two parsers could read the body differently.

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

enum { LOOKUP_OTHERS_MAX = 12 };

enum body_kind {
    BODY_UNKNOWN, // broken before it could be told
    BODY_REQUEST,
    BODY_NOTIFICATION,
    BODY_RESPONSE,
    BODY_STREAM, // an HCS frame: `type`, no `method`, no `jsonrpc`
    BODY_BATCH,  // an array; its members are not looked at here
};

enum lookup_verdict {
    LOOKUP_GOOD,
    LOOKUP_NOT_JSON,  // parse error; fault_at tells where
    LOOKUP_NOT_UTF8,  // invalid request
    LOOKUP_TOO_DEEP,  // invalid request: nested deeper than JSON_GRAMMAR_DEPTH_MAX; only where all is judged
    LOOKUP_AMBIGUOUS, // invalid request: fault_key twice, or spelled with an escape or in another case
    LOOKUP_NOT_MESSAGE, // invalid request: no message of any kind, or method beside result or error
    LOOKUP_BAD_ID,      // invalid request: no string or number, or longer than the limit
};

struct lookup {
    enum lookup_verdict verdict;
    // The kind of the body. With a bad verdict, the kind as far as the body was read. A body with a result or an error
    // and no method so far is a response, so that a broken response can end its request.
    enum body_kind kind;
    enum lookup_key fault_key;
    uint32_t fault_at;
    uint32_t present;                     // bit k: key k was there; value and type are set for those alone
    struct span value[LOOKUP_KEYS_COUNT]; // of the body; a string with its quotes
    uint8_t type[LOOKUP_KEYS_COUNT];      // enum json_type
    // The members of params whose keys are not guarded, as the strict lookup notes them. A count above the
    // limit tells that not all of them are here.
    uint32_t others;
    struct json_item other[LOOKUP_OTHERS_MAX];
};

static inline bool lookup_has(const struct lookup *lookup, enum lookup_key key) {
    assert(key < LOOKUP_KEYS_COUNT);
    return (lookup->present >> key & 1) != 0;
}

// Looks a whole body up. BUFFER_SLACK_BYTES behind it must be readable. `bytes` is at least 1.
void lookup_body(struct lookup *lookup, const uint8_t *body, uint32_t bytes, uint32_t id_bytes_max);

// The stretch of the body that goes when the id does: its whole member and the comma behind it, or the one
// before it where it comes last. The lookup is that of a request.
struct span lookup_id_member(const struct lookup *lookup, const uint8_t *body);

// Looks up likewise, but all of the body must be JSON (RFC 8259). A key that differs from a guarded one of
// its level in case alone is ambiguous: readers that match names loosely would take it for that one.
void lookup_body_strict(struct lookup *lookup, const uint8_t *body, uint32_t bytes, uint32_t id_bytes_max);
