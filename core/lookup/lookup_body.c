#include "core/lookup/lookup.h"

#include <assert.h>
#include <string.h>

#include "core/json/simdjson.h"
#include "core/lookup/lookup_key.h"
#include "core/lookup/lookup_quick.h"
#include "core/lookup/lookup_walk.h"

// Walks a body (lookup_quick.h, lookup_walk.h), and then judges the result: broken, ambiguous, not UTF-8, and of which
// kind.
//
// A broken body stops the walk at its fault, and the fields that were read before stay in the result. An ambiguous body
// is walked to its end, because a body that is broken as well must be reported as a parse error. A body that isn't
// UTF-8 is walked too: a response still has to end its request.

static bool seen(uint32_t keys, unsigned key) {
    assert(key <= KEY_TYPE);
    return (keys >> key & 1) != 0;
}

// Returns the kind of an object by its keys, or by the keys before its fault.
static enum body_kind kind_of(uint32_t keys) {
    if (seen(keys, KEY_METHOD))
        return seen(keys, KEY_ID) ? BODY_REQUEST : BODY_NOTIFICATION;
    if (seen(keys, KEY_RESULT) || seen(keys, KEY_ERROR))
        return BODY_RESPONSE;
    if (seen(keys, KEY_TYPE) && !seen(keys, KEY_JSONRPC))
        return BODY_STREAM;
    return BODY_UNKNOWN;
}

static enum lookup_verdict verdict_of(const struct lookup *lookup, uint32_t keys, uint32_t id_bytes_max) {
    if (lookup->kind == BODY_UNKNOWN)
        return LOOKUP_NOT_MESSAGE;
    if (lookup->kind != BODY_REQUEST && lookup->kind != BODY_NOTIFICATION)
        return LOOKUP_GOOD;
    if (seen(keys, KEY_RESULT) || seen(keys, KEY_ERROR) || lookup->type[KEY_METHOD] != JSON_STRING)
        return LOOKUP_NOT_MESSAGE;
    if (lookup->kind == BODY_NOTIFICATION)
        return LOOKUP_GOOD;
    bool typed = lookup->type[KEY_ID] == JSON_STRING || lookup->type[KEY_ID] == JSON_NUMBER;
    return typed && lookup->value[KEY_ID].bytes <= id_bytes_max ? LOOKUP_GOOD : LOOKUP_BAD_ID;
}

static void look(struct lookup *lookup, const uint8_t *body, uint32_t bytes, uint32_t id_bytes_max,
                 bool strict) {
    lookup->verdict = LOOKUP_GOOD;
    lookup->kind = BODY_UNKNOWN;
    lookup->fault_key = LOOKUP_KEYS_COUNT;
    lookup->fault_at = 0;
    lookup->present = 0;
    lookup->others = strict ? 0 : LOOKUP_OTHERS_MAX + 1;
    struct walked walked;
    if (strict || !lookup_quick(lookup, body, bytes, &walked))
        walked = lookup_walk(lookup, body, bytes, strict);
    assert(!walked.batch || !walked.seen);
    lookup->kind = walked.batch ? BODY_BATCH : kind_of(walked.seen);
    // A key behind the fault could have made the body another kind.
    if (walked.broken && lookup->kind == BODY_STREAM)
        lookup->kind = BODY_UNKNOWN;
    if (!walked.ascii && !simdjson_utf8(body, bytes))
        lookup->verdict = LOOKUP_NOT_UTF8;
    else if (lookup->verdict == LOOKUP_GOOD)
        lookup->verdict = walked.batch ? LOOKUP_GOOD : verdict_of(lookup, walked.seen, id_bytes_max);
    assert(lookup->fault_at <= bytes && (lookup->verdict != LOOKUP_GOOD || lookup->kind != BODY_UNKNOWN));
}

void lookup_body(struct lookup *lookup, const uint8_t *body, uint32_t bytes, uint32_t id_bytes_max) {
    look(lookup, body, bytes, id_bytes_max, false);
}

void lookup_body_strict(struct lookup *lookup, const uint8_t *body, uint32_t bytes, uint32_t id_bytes_max) {
    look(lookup, body, bytes, id_bytes_max, true);
}

// --- Removing the id from a request

// Returns the offset behind the token before `at`, over white space.
static uint32_t back_over_space(const uint8_t *body, uint32_t at) {
    assert(at > 0);
    while (body[at - 1] == ' ' || body[at - 1] == '\t' || body[at - 1] == '\n' || body[at - 1] == '\r')
        at--;
    return at;
}

// Relies on a key without escapes, since any other body would have been refused.
struct span lookup_id_member(const struct lookup *lookup, const uint8_t *body) {
    assert(lookup_has(lookup, KEY_ID));
    struct span value = lookup->value[KEY_ID];
    uint32_t end = value.at + value.bytes;
    uint32_t colon = back_over_space(body, value.at) - 1;
    uint32_t begin = back_over_space(body, colon) - (uint32_t)(sizeof "\"id\"" - 1);
    assert(body[colon] == ':' && memcmp(body + begin, "\"id\"", 4) == 0);
    uint32_t behind = json_skip_space(body, end, UINT32_MAX);
    if (body[behind] == ',')
        return (struct span){begin, behind + 1 - begin};
    uint32_t before = back_over_space(body, begin);
    if (body[before - 1] == ',')
        begin = before - 1;
    return (struct span){begin, end - begin};
}
