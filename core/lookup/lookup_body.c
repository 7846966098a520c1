// A body is walked (lookup_quick.h, lookup_walk.h), and what was met is then judged: broken, ambiguous, no UTF-8, or of which kind.
//
// How it fails: a broken body stops the walk where it is broken, and what was read before stays in the
// result. An ambiguous one is walked to its end, because one that is broken as well is a parse error first. A
// body that isn't UTF-8 is walked too: a response still has to end its request.

#include "core/lookup/lookup.h"

#include <assert.h>

#include "core/json/simdjson.h"
#include "core/lookup/lookup_key.h"
#include "core/lookup/lookup_quick.h"
#include "core/lookup/lookup_walk.h"

static bool seen(uint32_t keys, unsigned key) {
    assert(key <= KEY_TYPE);
    return (keys >> key & 1) != 0;
}

// What an object is by the keys that came, or came before it broke.
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
    // What makes it something else could still have come.
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
