// Looks up the routing fields of a body lazily. The top level, `params` and `params._meta` are read, with keys in any
// order; deeper levels are skipped. Nothing is copied and no tree is built: the result is spans of the body.
//
// A body is refused here if two parsers could read it differently where routing depends on it: the body isn't UTF-8, or
// a key of LOOKUP_KEYS occurs twice at its level or is spelled with an escape.
//
// The lookup has two depths. The lazy lookup doesn't judge levels deeper than those that it reads. The strict lookup
// judges all of the body.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json/json.h"

// The guarded keys of a body. If a guarded key occurs twice at its level, or is spelled with an escape, two parsers
// could read the body differently.

// The table of guarded keys: name, level (0 the top, 1 params, 2 params._meta), spelling.
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

// Returns a guarded key's spelling; static.
const char *lookup_key_text(enum lookup_key key);

enum { LOOKUP_OTHERS_MAX = 12 };

enum body_kind {
    BODY_UNKNOWN, // broken before the kind was known
    BODY_REQUEST,
    BODY_NOTIFICATION,
    BODY_RESPONSE,
    BODY_STREAM, // an HCS frame: has `type`, but no `method` and no `jsonrpc`
    BODY_BATCH,  // an array; its members aren't looked up here
};

enum lookup_verdict {
    LOOKUP_GOOD,
    LOOKUP_NOT_JSON, // parse error at fault_at
    LOOKUP_NOT_UTF8, // invalid request
    LOOKUP_TOO_DEEP, // invalid request: nested deeper than JSON_GRAMMAR_DEPTH_MAX; only in the strict lookup
    // Invalid request: fault_key occurs twice, or is spelled with an escape or in another case
    LOOKUP_AMBIGUOUS,
    LOOKUP_NOT_MESSAGE, // invalid request: no message of any kind, or `method` beside `result` or `error`
    LOOKUP_BAD_ID,      // invalid request: the id is no string or number, or is longer than the limit
};

struct lookup {
    enum lookup_verdict verdict;
    // The kind of the body. With a bad verdict, the kind as far as the body was read. A body with a result or an error
    // and no method so far is a response, so that a broken response can end its request.
    enum body_kind kind;
    enum lookup_key fault_key;
    uint32_t fault_at;
    uint32_t present; // bit k: the body has key k; value and type are set for these keys alone
    struct span value[LOOKUP_KEYS_COUNT]; // span of the body; a string has its quotes
    uint8_t type[LOOKUP_KEYS_COUNT];      // enum json_type
    // The members of params with other keys than guarded ones, set by the strict lookup. If `others` is over
    // LOOKUP_OTHERS_MAX, some members are missing here.
    uint32_t others;
    struct json_item other[LOOKUP_OTHERS_MAX];
};

static inline bool lookup_has(const struct lookup *lookup, enum lookup_key key) {
    assert(key < LOOKUP_KEYS_COUNT);
    return (lookup->present >> key & 1) != 0;
}

// Looks up a whole body. BUFFER_SLACK_BYTES behind the body must be readable. `bytes` must be at least 1.
void lookup_body(struct lookup *lookup, const uint8_t *body, uint32_t bytes, uint32_t id_bytes_max);

// Returns the stretch to cut out of a request to remove its id: the whole member, and the comma behind it or, for the
// last member, the comma before it.
struct span lookup_id_member(const struct lookup *lookup, const uint8_t *body);

// Looks up a body as lookup_body does, but all of the body must be JSON (RFC 8259). A key that differs from a guarded
// key of its level in case alone is ambiguous: a reader that ignores case would take the one for the other.
void lookup_body_strict(struct lookup *lookup, const uint8_t *body, uint32_t bytes, uint32_t id_bytes_max);
