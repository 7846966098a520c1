// Reads the fields of an HCS frame that the hub needs, at the top level alone. The lookup (lookup.h) reads every body
// first. If the body is an HCS frame, this module reads its fields in a second pass, which no other message pays for.
//
// As in other bodies, no key may occur twice or be spelled with an escape. Only the values of keys in the list are
// judged: strings among these must be valid.
#pragma once

#include "core/lookup/lookup.h"

#define HCS_FIELDS_KEYS(X)                                                                                   \
    X(STREAM_TYPE, "type")                                                                                   \
    X(STREAM_SESSION_ID, "session_id")                                                                       \
    X(STREAM_REQUEST_ID, "request_id")                                                                       \
    X(STREAM_USER_ID, "user_id")                                                                             \
    X(STREAM_TARGET_AGENT, "targetAgent")                                                                    \
    X(STREAM_AFTER_SEQ, "after_seq")                                                                         \
    X(STREAM_SEQ, "seq")                                                                                     \
    X(STREAM_LOD, "lod")                                                                                     \
    X(STREAM_ACTION, "action")                                                                               \
    X(STREAM_CODE, "code")                                                                                   \
    X(STREAM_REFUSED, "refused")

enum hcs_fields_key {
#define X(name, text) name,
    HCS_FIELDS_KEYS(X)
#undef X
        STREAM_KEYS_COUNT
};

struct hcs_fields {
    enum lookup_verdict verdict; // LOOKUP_GOOD, LOOKUP_AMBIGUOUS, or LOOKUP_NOT_JSON
    const char *fault_key;       // static
    uint32_t fault_at;
    uint32_t inside; // offset behind the opening brace
    uint32_t present;
    struct span value[STREAM_KEYS_COUNT];
    uint8_t type[STREAM_KEYS_COUNT]; // enum json_type
};

// Reads a body for which the lookup's kind is BODY_STREAM. The body must have the same slack as for the lookup.
void hcs_fields_read(struct hcs_fields *frame, const uint8_t *body, uint32_t bytes);

static inline bool hcs_fields_has(const struct hcs_fields *frame, enum hcs_fields_key key) {
    assert(key < STREAM_KEYS_COUNT);
    return (frame->present >> key & 1) != 0;
}
// Returns whether the frame has the key, and its value is a string that means `literal`.
bool hcs_fields_is(const struct hcs_fields *frame, const uint8_t *body, enum hcs_fields_key key,
                   const char *literal);
// Reads a value that is a whole number from 0 to 2^53 - 1. Returns false for any other value, and without the key.
bool hcs_fields_number(const struct hcs_fields *frame, const uint8_t *body, enum hcs_fields_key key,
                       uint64_t *out);
// Decodes a value that is a string, as json_string_decode does. Returns SIZE_MAX also if there is no such key or
// string.
size_t hcs_fields_text(const struct hcs_fields *frame, const uint8_t *body, enum hcs_fields_key key,
                       char *out, size_t capacity);
