// A whole text judged by the grammar of RFC 8259 alone, byte by byte, with a bit a level for what is open.
// The slow judge, for the few texts that simdjson refuses for more than their grammar, and to find where a
// text is broken that the judge of json_valid.c refused.

#include "core/json/json.h"

#include <assert.h>

enum { OBJECT_BIT_WORDS = JSON_GRAMMAR_DEPTH_MAX / 64 };

struct judge {
    const uint8_t *text;
    uint32_t at;
    uint32_t end;
    uint32_t depth;
    bool too_deep;
    uint64_t object[OBJECT_BIT_WORDS]; // bit d: what is open at depth d + 1 is an object
};

static bool in_object(const struct judge *judge) {
    assert(judge->depth > 0 && judge->depth <= JSON_GRAMMAR_DEPTH_MAX);
    uint32_t index = judge->depth - 1;
    return (judge->object[index / 64] >> (index % 64) & 1) != 0;
}

static bool next_is(struct judge *judge, uint8_t byte) {
    assert(judge->at <= judge->end);
    judge->at = json_skip_space(judge->text, judge->at, judge->end);
    return judge->at < judge->end && judge->text[judge->at] == byte;
}

static bool json_grammar_take(struct judge *judge, uint8_t byte) {
    bool is = next_is(judge, byte);
    judge->at += is;
    return is;
}

static bool take_string(struct judge *judge) {
    if (!next_is(judge, '"'))
        return false;
    uint32_t behind = json_skip_valid_string(judge->text, judge->at, judge->end);
    if (behind == UINT32_MAX)
        return false;
    assert(behind > judge->at && behind <= judge->end);
    judge->at = behind;
    return true;
}

static bool take_key(struct judge *judge) {
    return take_string(judge) && json_grammar_take(judge, ':');
}

static bool take_scalar(struct judge *judge) {
    enum json_type type;
    if (next_is(judge, '"'))
        return take_string(judge);
    if (judge->at == judge->end)
        return false;
    uint32_t behind = json_skip_scalar(judge->text, judge->at, judge->end, &type);
    if (behind == UINT32_MAX)
        return false;
    assert(behind > judge->at && behind <= judge->end);
    judge->at = behind;
    return true;
}

// Takes the opening bracket that is next. *empty: and the closing one behind it.
static bool take_open(struct judge *judge, bool object, bool *empty) {
    assert(judge->at < judge->end && judge->text[judge->at] == (object ? '{' : '['));
    judge->too_deep = judge->depth == JSON_GRAMMAR_DEPTH_MAX;
    if (judge->too_deep)
        return false;
    uint64_t bit = UINT64_C(1) << (judge->depth % 64);
    if (object)
        judge->object[judge->depth / 64] |= bit;
    else
        judge->object[judge->depth / 64] &= ~bit;
    judge->depth++;
    judge->at++;
    *empty = next_is(judge, object ? '}' : ']');
    return *empty || !object || take_key(judge);
}

// Behind a value: closes what closes here, up to a comma and to the next value. *done: the outermost value
// ended.
static bool take_separator(struct judge *judge, bool *done) {
    assert(judge->depth <= JSON_GRAMMAR_DEPTH_MAX);
    while (judge->depth > 0 && json_grammar_take(judge, in_object(judge) ? '}' : ']'))
        judge->depth--;
    *done = judge->depth == 0;
    return *done || (json_grammar_take(judge, ',') && (!in_object(judge) || take_key(judge)));
}

// The judge has come to the end of the value, or stands where it is broken.
static bool take_value(struct judge *judge) {
    for (bool done = false; !done;) {
        bool object = next_is(judge, '{'), empty = true;
        if (object || next_is(judge, '[')) {
            if (!take_open(judge, object, &empty))
                return false;
        } else if (!take_scalar(judge)) {
            return false;
        }
        if (empty && !take_separator(judge, &done))
            return false;
    }
    return true;
}

uint32_t json_grammar_fault(const uint8_t *text, uint32_t bytes, bool *too_deep) {
    struct judge judge = {.text = text, .end = bytes};
    bool good = take_value(&judge);
    assert(judge.at <= bytes && (!good || (judge.depth == 0 && !judge.too_deep)));
    *too_deep = judge.too_deep;
    if (!good)
        return judge.at;
    uint32_t behind = json_skip_space(text, judge.at, bytes);
    return behind == bytes ? UINT32_MAX : behind;
}

bool json_grammar_valid(const uint8_t *text, uint32_t bytes) {
    assert(bytes != UINT32_MAX);
    bool too_deep;
    return json_grammar_fault(text, bytes, &too_deep) == UINT32_MAX;
}
