// A whole text judged by the grammar of RFC 8259 alone, byte by byte, with a bit a level for what is open.
// The slow judge, for the few texts that simdjson refuses for more than their grammar, and to find where a
// text is broken that the judge of json_valid.c refused.

#include "core/json/json.h"

#include <assert.h>

enum { OBJECT_BIT_WORDS = JSON_GRAMMAR_DEPTH_MAX / 64 };

struct validator {
    const uint8_t *text;
    uint32_t at;
    uint32_t end;
    uint32_t depth;
    bool too_deep;
    uint64_t object[OBJECT_BIT_WORDS]; // bit d: what is open at depth d + 1 is an object
};

static bool in_object(const struct validator *validator) {
    assert(validator->depth > 0 && validator->depth <= JSON_GRAMMAR_DEPTH_MAX);
    uint32_t index = validator->depth - 1;
    return (validator->object[index / 64] >> (index % 64) & 1) != 0;
}

static bool next_is(struct validator *validator, uint8_t byte) {
    assert(validator->at <= validator->end);
    validator->at = json_skip_space(validator->text, validator->at, validator->end);
    return validator->at < validator->end && validator->text[validator->at] == byte;
}

static bool json_grammar_take(struct validator *validator, uint8_t byte) {
    bool is = next_is(validator, byte);
    validator->at += is;
    return is;
}

static bool take_string(struct validator *validator) {
    if (!next_is(validator, '"'))
        return false;
    uint32_t behind = json_skip_valid_string(validator->text, validator->at, validator->end);
    if (behind == UINT32_MAX)
        return false;
    assert(behind > validator->at && behind <= validator->end);
    validator->at = behind;
    return true;
}

static bool take_key(struct validator *validator) {
    return take_string(validator) && json_grammar_take(validator, ':');
}

static bool take_scalar(struct validator *validator) {
    enum json_type type;
    if (next_is(validator, '"'))
        return take_string(validator);
    if (validator->at == validator->end)
        return false;
    uint32_t behind = json_skip_scalar(validator->text, validator->at, validator->end, &type);
    if (behind == UINT32_MAX)
        return false;
    assert(behind > validator->at && behind <= validator->end);
    validator->at = behind;
    return true;
}

// Takes the opening bracket that is next. *empty: and the closing one behind it.
static bool take_open(struct validator *validator, bool object, bool *empty) {
    assert(validator->at < validator->end && validator->text[validator->at] == (object ? '{' : '['));
    validator->too_deep = validator->depth == JSON_GRAMMAR_DEPTH_MAX;
    if (validator->too_deep)
        return false;
    uint64_t bit = UINT64_C(1) << (validator->depth % 64);
    if (object)
        validator->object[validator->depth / 64] |= bit;
    else
        validator->object[validator->depth / 64] &= ~bit;
    validator->depth++;
    validator->at++;
    *empty = next_is(validator, object ? '}' : ']');
    return *empty || !object || take_key(validator);
}

// Behind a value: closes what closes here, up to a comma and to the next value. *done: the outermost value
// ended.
static bool take_separator(struct validator *validator, bool *done) {
    assert(validator->depth <= JSON_GRAMMAR_DEPTH_MAX);
    while (validator->depth > 0 && json_grammar_take(validator, in_object(validator) ? '}' : ']'))
        validator->depth--;
    *done = validator->depth == 0;
    return *done || (json_grammar_take(validator, ',') && (!in_object(validator) || take_key(validator)));
}

// The judge has come to the end of the value, or stands where it is broken.
static bool take_value(struct validator *validator) {
    for (bool done = false; !done;) {
        bool object = next_is(validator, '{'), empty = true;
        if (object || next_is(validator, '[')) {
            if (!take_open(validator, object, &empty))
                return false;
        } else if (!take_scalar(validator)) {
            return false;
        }
        if (empty && !take_separator(validator, &done))
            return false;
    }
    return true;
}

uint32_t json_grammar_fault(const uint8_t *text, uint32_t bytes, bool *too_deep) {
    struct validator validator = {.text = text, .end = bytes};
    bool good = take_value(&validator);
    assert(validator.at <= bytes && (!good || (validator.depth == 0 && !validator.too_deep)));
    *too_deep = validator.too_deep;
    if (!good)
        return validator.at;
    uint32_t behind = json_skip_space(text, validator.at, bytes);
    return behind == bytes ? UINT32_MAX : behind;
}

bool json_grammar_valid(const uint8_t *text, uint32_t bytes) {
    assert(bytes != UINT32_MAX);
    bool too_deep;
    return json_grammar_fault(text, bytes, &too_deep) == UINT32_MAX;
}
