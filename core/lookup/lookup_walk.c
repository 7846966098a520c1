// Walks a body in one pass, one member after the other. The pass covers the top level, `params` and `params._meta`,
// with one state for all three levels. The walk takes a key, a colon and a value at a time, and skips a value other
// than those two objects.
//
// Strings are mostly short, so one block's masks (json_block.h) are kept for several strings. A string that doesn't fit
// a block, or has an escape, is read by slower functions.
#include "core/lookup/lookup_walk.h"

#include <assert.h>

#include "core/json/json_block.h"
#include "core/lookup/lookup_key.h"
#include "core/lookup/lookup_members.h"

// The result of a step, in place of the offset that it reached, once the fault is recorded.
enum { BROKEN = UINT32_MAX };

struct walk {
    const uint8_t *text;
    struct lookup *lookup;
    uint32_t end;
    uint32_t seen; // bit k: key k occurred, even without a value
    unsigned level;
    const struct key_level *keys; // keys of `level`
    struct span key;              // the last key; in the strict depth alone
    struct {                      // the open objects of levels 1 and 2
        uint32_t at;
        unsigned key;
    } open[KEY_LEVELS];
};

// The masks of the block that was read last.
struct block_masks {
    uint32_t at;
    // Quotes that the walk hasn't passed, escaped ones too; not valid after a container was skipped
    uint64_t quotes;
    uint64_t special; // backslashes and control characters
};

static uint32_t fault(struct walk *walk, uint32_t at) {
    assert(at <= walk->end + 1);
    walk->lookup->verdict = LOOKUP_NOT_JSON;
    walk->lookup->fault_at = at < walk->end ? at : walk->end;
    return BROKEN;
}

// Records the fault of a body that is broken, or too deep, in a part that the walk skipped.
static void fault_deeper(struct walk *walk) {
    bool too_deep;
    fault(walk, json_grammar_fault(walk->text, walk->end, &too_deep));
    if (too_deep)
        walk->lookup->verdict = LOOKUP_TOO_DEEP;
}

static void ambiguous(struct walk *walk, unsigned key, uint32_t at) {
    struct lookup *lookup = walk->lookup;
    if (lookup->verdict != LOOKUP_GOOD)
        return;
    lookup->verdict = LOOKUP_AMBIGUOUS;
    lookup->fault_key = (enum lookup_key)key;
    lookup->fault_at = at;
}

// Returns the next offset that is no white space. Records a fault if there is none.
JSON_INLINE uint32_t to_token(struct walk *walk, uint32_t at) {
    assert(at <= walk->end + 1);
    if (likely(at < walk->end && walk->text[at] > ' '))
        return at;
    at = json_skip_space(walk->text, at, walk->end);
    return at < walk->end ? at : fault(walk, at);
}

// Returns the offset behind the string that opens at `at`, if the string ends within a block and has only plain
// characters. The string is then valid. Else returns `at`. If the two lowest quotes left are not the string's, the
// block is read anew from `at`. From string to string within a block only the mask is used, not `at`, so that the
// processor needn't wait for `at`.
JSON_INLINE uint32_t skip_short_string(const struct walk *walk, json_string_masks_of *masks_of,
                                       struct block_masks *block, uint32_t at) {
    uint64_t quotes = block->quotes, rest = quotes & (quotes - 1);
    if (rest == 0 || block->at + json_lowest(quotes) != at) {
        struct json_string_masks masks = masks_of(walk->text + at);
        block->at = at;
        block->special = masks.backslash | masks.control;
        quotes = masks.quote;
        rest = quotes & (quotes - 1);
        if (rest == 0) {
            block->quotes = 0;
            return at;
        }
    }
    uint64_t opening = quotes & -quotes, closing = rest & -rest;
    block->quotes = rest ^ closing;
    if (!likely((block->special & (closing - opening)) == 0))
        return at;
    uint32_t behind = block->at + json_lowest(rest) + 1;
    return behind <= walk->end ? behind : at;
}

// Returns the offset behind any string that opens at `at`. A string that is `judged` must be valid.
static uint32_t skip_long_string(struct walk *walk, uint32_t at, bool judged) {
    uint32_t behind = judged ? json_skip_valid_string(walk->text, at, walk->end)
                             : json_skip_string(walk->text, at, walk->end);
    return behind == UINT32_MAX ? fault(walk, at) : behind;
}

// Takes a key with escapes, or a long one.
static uint32_t take_long_key(struct walk *walk, unsigned *key, uint32_t at) {
    uint32_t behind = skip_long_string(walk, at, true);
    if (behind == BROKEN)
        return BROKEN;
    *key = key_find_escaped(walk->level, walk->text, (struct span){at, behind - at});
    // Guarded keys fit a block: a guarded key that is found here was spelled with an escape.
    if (*key < LOOKUP_KEYS_COUNT)
        ambiguous(walk, *key, at);
    return behind;
}

// Judges whether an unknown key equals a guarded key except for case.
JSON_INLINE void judge_case(struct walk *walk, bool is_short, struct span string) {
    if (is_short && likely(!key_may_differ(walk->level, walk->text + string.at + 1, string.bytes - 2)))
        return;
    unsigned key = key_find_folded(walk->level, walk->text, string);
    if (key != KEY_OTHER)
        ambiguous(walk, key, string.at);
}

// Takes a key and its colon. Returns the offset of the value.
JSON_INLINE uint32_t take_key(struct walk *walk, json_string_masks_of *masks_of, bool strict,
                              struct block_masks *block, unsigned *key, uint32_t at) {
    uint32_t begin = at;
    if (walk->text[begin] != '"')
        return fault(walk, begin);
    at = skip_short_string(walk, masks_of, block, begin);
    bool is_short = at != begin;
    if (likely(is_short))
        *key = key_find(walk->keys, walk->text + begin + 1, at - begin - 2);
    else
        at = take_long_key(walk, key, begin);
    if (at == BROKEN)
        return BROKEN;
    if (*key != KEY_OTHER) {
        if ((walk->seen >> *key & 1) != 0 && *key != KEY_TYPE)
            ambiguous(walk, *key, begin);
        walk->seen |= UINT32_C(1) << *key;
    } else if (strict) {
        judge_case(walk, is_short, (struct span){begin, at - begin});
    }
    if (strict)
        walk->key = (struct span){begin, at - begin};
    // At the end of a body this byte is in the slack. If the slack has a colon there, to_token finds that the value is
    // missing.
    if (!likely(walk->text[at] == ':')) {
        at = to_token(walk, at);
        if (at == BROKEN || walk->text[at] != ':')
            return at == BROKEN ? BROKEN : fault(walk, at);
    }
    return to_token(walk, at + 1);
}

JSON_INLINE uint32_t skip_scalar(struct walk *walk, enum json_type *type, uint32_t at) {
    *type = JSON_NUMBER;
    uint32_t behind = json_skip_whole_number(walk->text, at, walk->end);
    if (behind == at)
        behind = json_skip_scalar(walk->text, at, walk->end, type);
    return behind == UINT32_MAX ? fault(walk, at) : behind;
}

// Records the value of a guarded key; of a key that occurs twice, the first value.
JSON_INLINE void record(struct walk *walk, unsigned key, struct span value, enum json_type type) {
    assert(value.bytes > 0 && value.at + value.bytes <= walk->end);
    struct lookup *lookup = walk->lookup;
    if (key >= LOOKUP_KEYS_COUNT || (lookup->present >> key & 1) != 0)
        return;
    lookup->present |= UINT32_C(1) << key;
    lookup->value[key] = value;
    lookup->type[key] = (uint8_t)type;
}

// Records a member of params whose key isn't guarded.
JSON_INLINE void note(struct walk *walk, struct span value, enum json_type type) {
    struct lookup *lookup = walk->lookup;
    if (walk->level != 1)
        return;
    if (lookup->others < LOOKUP_OTHERS_MAX)
        lookup->other[lookup->others] = (struct json_item){walk->key, value, type};
    lookup->others++;
}

// Goes behind a value that isn't an object to be walked. In the strict depth, json_valid judges all strings at the end,
// so none is judged here.
JSON_INLINE uint32_t take_value(struct walk *walk, json_string_masks_of *masks_of, bool strict,
                                struct block_masks *block, unsigned key, uint32_t at) {
    uint8_t first = walk->text[at];
    enum json_type type = JSON_STRING;
    uint32_t behind;
    if (first == '"') {
        behind = skip_short_string(walk, masks_of, block, at);
        if (behind == at)
            behind = skip_long_string(walk, at, !strict && key < LOOKUP_KEYS_COUNT);
    } else if (first == '{' || first == '[') {
        type = first == '{' ? JSON_OBJECT : JSON_ARRAY;
        behind = json_skip_container(walk->text, at, walk->end);
        if (behind == UINT32_MAX)
            fault(walk, at);
    } else {
        behind = skip_scalar(walk, &type, at);
    }
    if (behind == BROKEN)
        return BROKEN;
    record(walk, key, (struct span){at, behind - at}, type);
    if (strict && key == KEY_OTHER)
        note(walk, (struct span){at, behind - at}, type);
    return behind;
}

// Goes from the end of a value to the next comma, through the brackets that close here, and records the closed objects.
// *done: the top level closed, and the offset is behind it.
static uint32_t take_closing(struct walk *walk, bool *done, uint32_t at) {
    for (at = to_token(walk, at); at != BROKEN && walk->text[at] == '}'; at = to_token(walk, at)) {
        at++;
        *done = walk->level == 0;
        if (*done)
            return at;
        uint32_t begin = walk->open[walk->level].at;
        record(walk, walk->open[walk->level].key, (struct span){begin, at - begin}, JSON_OBJECT);
        walk->level--;
        walk->keys--;
    }
    return at == BROKEN || walk->text[at] == ',' ? at : fault(walk, at);
}

// Enters the value at `at` if it is an object to be walked. Returns whether the walk has entered.
JSON_INLINE bool enter(struct walk *walk, unsigned key, uint32_t at) {
    if ((key != KEY_PARAMS && key != KEY_META) || walk->text[at] != '{')
        return false;
    walk->level++;
    walk->keys++;
    walk->open[walk->level].at = at;
    walk->open[walk->level].key = key;
    return true;
}

// Returns whether members_skip could skip the value, and the value is no long string.
JSON_INLINE bool is_small(const struct walk *walk, uint32_t begin, uint32_t behind) {
    return (walk->text[begin] | 0x20) != '{' && behind - begin <= JSON_BLOCK_BYTES;
}

// Walks the object that opens at `at`. Returns the offset behind the object, or BROKEN.
JSON_INLINE uint32_t walk_object(struct walk *walk, json_string_masks_of *masks_of, bool strict,
                                 uint32_t at) {
    struct block_masks block = {0};
    struct members_row row = {.wanted = MEMBERS_ROW_BEGINS};
    unsigned key = KEY_OTHER;
    for (bool done = false, entered = true; at != BROKEN && !done;) {
        at = to_token(walk, at + 1); // behind an opening bracket or a comma
        if (at != BROKEN && entered && walk->text[at] == '}') {
            at = take_closing(walk, &done, at);
            entered = false;
            continue;
        }
        if (at != BROKEN)
            at = take_key(walk, masks_of, strict, &block, &key, at);
        if (at == BROKEN)
            return BROKEN;
        entered = enter(walk, key, at);
        if (entered)
            continue;
        uint32_t begin = at;
        at = take_value(walk, masks_of, strict, &block, key, at);
        if (at == BROKEN)
            return BROKEN;
        // With a comma in the slack, to_token finds that the next key is missing.
        if (walk->text[at] != ',')
            at = take_closing(walk, &done, at);
        else if (!strict && key == KEY_OTHER)
            at = members_row(&row, is_small(walk, begin, at), walk->text, at, walk->end, walk->level);
    }
    return at;
}

// The instances for each level of vector code and each depth.
typedef uint32_t walk_object_of(struct walk *walk, uint32_t at);

static uint32_t walk_lazy_portable(struct walk *walk, uint32_t at) {
    return walk_object(walk, json_string_masks_portable, false, at);
}
static uint32_t walk_strict_portable(struct walk *walk, uint32_t at) {
    return walk_object(walk, json_string_masks_portable, true, at);
}
#if defined(__x86_64__)
JSON_TARGET_AVX2 static uint32_t walk_lazy_avx2(struct walk *walk, uint32_t at) {
    return walk_object(walk, json_string_masks_avx2, false, at);
}
JSON_TARGET_AVX2 static uint32_t walk_strict_avx2(struct walk *walk, uint32_t at) {
    return walk_object(walk, json_string_masks_avx2, true, at);
}
JSON_TARGET_AVX512 static uint32_t walk_lazy_avx512(struct walk *walk, uint32_t at) {
    return walk_object(walk, json_string_masks_avx512, false, at);
}
JSON_TARGET_AVX512 static uint32_t walk_strict_avx512(struct walk *walk, uint32_t at) {
    return walk_object(walk, json_string_masks_avx512, true, at);
}
#endif

static walk_object_of *const walk_objects[JSON_LEVELS_COUNT][2] = {
    {walk_lazy_portable, walk_strict_portable},
#if defined(__x86_64__)
    {walk_lazy_avx2, walk_strict_avx2},
    {walk_lazy_avx512, walk_strict_avx512},
#endif
};

// Walks the value of the body. An array is a batch; a scalar is JSON, but no message.
static uint32_t walk_body(struct walk *walk, bool strict, uint32_t at) {
    enum json_type type;
    if (walk->text[at] == '{')
        return walk_objects[json_level_in_use()][strict](walk, at);
    if (walk->text[at] == '"')
        return skip_long_string(walk, at, true);
    uint32_t behind = walk->text[at] == '[' ? json_skip_container(walk->text, at, walk->end)
                                            : json_skip_scalar(walk->text, at, walk->end, &type);
    return behind == UINT32_MAX ? fault(walk, at) : behind;
}

struct walked lookup_walk(struct lookup *lookup, const uint8_t *body, uint32_t bytes, bool strict) {
    assert(bytes > 0 && lookup->present == 0 && lookup->verdict == LOOKUP_GOOD);
    struct walk walk = {.text = body, .lookup = lookup, .end = bytes, .keys = key_levels};
    uint32_t at = to_token(&walk, 0);
    bool batch = at != BROKEN && body[at] == '[';
    if (at != BROKEN)
        at = walk_body(&walk, strict, at);
    if (at != BROKEN) {
        at = json_skip_space(body, at, bytes);
        at = at < bytes ? fault(&walk, at) : at;
    }
    // Judges the parts that the walk skipped. A response keeps its kind, which depends on the keys of the top level.
    if (strict && at != BROKEN && !json_valid(body, bytes))
        fault_deeper(&walk);
    return (struct walked){
        .seen = walk.seen,
        .ascii = json_ascii(body, bytes),
        .batch = batch,
        .broken = at == BROKEN,
    };
}
