// First all quotes of the body are found (lookup_quotes.h). Then the walk goes from quote to quote. No byte
// of a string is looked at again but those of keys, and bytes between strings only where they alone tell the
// next token.
//
// On failure the body is left, from its beginning, to the walk over any body. So one place alone tells the
// fault of a body, and here each doubt may be decided so.
#include "core/lookup/lookup_quick.h"

#include <assert.h>

#include "core/json/json_block.h"
#include "core/lookup/lookup_key.h"
#include "core/lookup/lookup_members.h"
#include "core/lookup/lookup_quotes.h"

struct quick {
    const uint8_t *text;
    const struct quotes_map *map;
    struct lookup *lookup;
    uint32_t end;
    uint32_t seen;
    uint64_t quotes; // those of the block that the walk hasn't come to
    uint32_t block;
    unsigned level;
    const struct key_level *keys; // of the level
    struct {                      // the objects of levels 1 and 2 that are open
        uint32_t at;
        unsigned key;
    } open[KEY_LEVELS];
};

// Where the next quote lies; behind the end there is always one.
JSON_INLINE uint32_t next_quote(struct quick *quick) {
    while (quick->quotes == 0) {
        quick->block += JSON_BLOCK_BYTES;
        assert(quick->block / JSON_BLOCK_BYTES <= QUOTES_BLOCKS_MAX);
        quick->quotes = quick->map->quotes[quick->block / JSON_BLOCK_BYTES];
    }
    return quick->block + json_lowest(quick->quotes);
}

JSON_INLINE void pass_quote(struct quick *quick) {
    assert(quick->quotes != 0);
    quick->quotes &= quick->quotes - 1;
}

// Where the string ends that opens with the next quote; both are passed.
JSON_INLINE uint32_t closing_quote(struct quick *quick) {
    pass_quote(quick);
    uint32_t closing = next_quote(quick);
    pass_quote(quick);
    return closing;
}

// The walk goes on from here, which isn't inside a string.
JSON_INLINE void go_to(struct quick *quick, uint32_t at) {
    assert(at <= quick->end);
    quick->block = at - at % JSON_BLOCK_BYTES;
    quick->quotes = quick->map->quotes[at / JSON_BLOCK_BYTES] & ~json_bits_below(at % JSON_BLOCK_BYTES);
}

JSON_INLINE uint32_t quick_to_token(const struct quick *quick, uint32_t at) {
    return likely(quick->text[at] > ' ') ? at : json_skip_space(quick->text, at, quick->end);
}

JSON_INLINE void quick_record(struct quick *quick, unsigned key, uint32_t at, uint32_t behind,
                              enum json_type type) {
    if (key >= LOOKUP_KEYS_COUNT)
        return;
    assert((quick->seen >> key & 1) != 0);
    quick->lookup->value[key] = (struct span){at, behind - at};
    quick->lookup->type[key] = (uint8_t)type;
}

// From before a key, a bracket or a comma, to the colon behind it; 0 when it can't be told here.
JSON_INLINE uint32_t quick_key(const struct quick_level *level, struct quick *quick, unsigned *key,
                               uint32_t at) {
    uint32_t opening = next_quote(quick), closing = closing_quote(quick);
    if (!likely(opening == at + 1) && opening != quick_to_token(quick, at + 1))
        return 0;
    if (closing >= quick->end)
        return 0;
    if (!quotes_plain_between(quick->map, opening, closing))
        return 0;
    const struct key_entry *entry =
        level->key_of(quick->keys, quick->text + opening + 1, closing - opening - 1);
    *key = entry->key;
    if ((quick->seen & entry->bit) != 0)
        return 0;
    quick->seen |= entry->bit;
    at = closing + 1;
    if (likely(quick->text[at] == ':'))
        return at;
    at = quick_to_token(quick, at);
    return at < quick->end && quick->text[at] == ':' ? at : 0;
}

// The offset behind the container that opens at `at`; 0 when it has no end.
JSON_INLINE uint32_t quick_container(const struct quick_level *level, struct quick *quick, uint32_t at) {
    assert(at < quick->end);
    struct json_depth depth = {0};
    uint64_t from = ~json_bits_below(at % JSON_BLOCK_BYTES);
    for (uint32_t block = at - at % JSON_BLOCK_BYTES; block < quick->end;) {
        struct json_bracket_masks masks = level->brackets_of(quick->text + block);
        uint64_t quotes = quick->map->quotes[block / JSON_BLOCK_BYTES] & from;
        uint32_t last =
            json_depth_block(&depth, level->parity_of, quotes, masks.open & from, masks.close & from);
        if (last < JSON_BLOCK_BYTES) {
            if (block + last >= quick->end || quick->text[block + last] != quick->text[at] + 2)
                return 0;
            go_to(quick, block + last + 1);
            return block + last + 1;
        }
        from = UINT64_MAX;
        block += JSON_BLOCK_BYTES;
        bool within = quick->map->quotes[block / JSON_BLOCK_BYTES] == 0;
        if (within & (depth.inside != 0)) // a long string goes on
            block = quotes_block_from(quick->map, block);
    }
    return 0;
}

JSON_INLINE uint32_t quick_scalar(struct quick *quick, enum json_type *type, uint32_t at) {
    assert(at < quick->end);
    *type = JSON_NUMBER;
    uint32_t behind = json_skip_whole_number(quick->text, at, quick->end);
    if (behind == at)
        behind = json_skip_scalar(quick->text, at, quick->end, type);
    return behind == UINT32_MAX ? 0 : behind;
}

// Goes behind the string that opens with the next quote; 0 when it can't be told here.
JSON_INLINE uint32_t quick_string(struct quick *quick, unsigned key, uint32_t at) {
    uint32_t behind = closing_quote(quick) + 1;
    if (behind > quick->end)
        return 0;
    assert(behind >= at + 2 && quick->text[at] == '"');
    if (key < LOOKUP_KEYS_COUNT && !quotes_plain_between(quick->map, at, behind - 1) &&
        !json_string_valid(quick->text, (struct span){at, behind - at}))
        return 0;
    quick_record(quick, key, at, behind, JSON_STRING);
    return behind;
}

// Whether the value at `at` is an object to be walked, with something in it; it is then entered.
JSON_INLINE bool quick_enter(struct quick *quick, unsigned key, uint32_t at) {
    if (quick->text[at] != '{' || (key != KEY_PARAMS && key != KEY_META))
        return false;
    if (quick->text[quick_to_token(quick, at + 1)] == '}')
        return false;
    assert(quick->level + 1 < KEY_LEVELS && at < UINT32_MAX);
    quick->level++;
    quick->keys++;
    quick->open[quick->level].at = at;
    quick->open[quick->level].key = key;
    return true;
}

// Goes behind a value that is no string, or into it; 0 when it can't be told here.
JSON_INLINE uint32_t quick_other(const struct quick_level *level, struct quick *quick, unsigned key,
                                 uint32_t at) {
    uint8_t first = quick->text[at];
    enum json_type type = first == '{' ? JSON_OBJECT : JSON_ARRAY;
    uint32_t behind;
    if (at >= quick->end)
        return 0;
    if (first == '{' || first == '[')
        behind = quick_container(level, quick, at);
    else
        behind = quick_scalar(quick, &type, at);
    quick_record(quick, key, at, behind, type);
    return behind;
}

// Goes from behind a value to the comma that follows, through the brackets that close here. Goes to the end
// of the body if the top is among them. Returns 0 when something else is there.
JSON_INLINE uint32_t quick_closing(struct quick *quick, uint32_t at) {
    for (;;) {
        at = quick_to_token(quick, at);
        if (at >= quick->end || quick->text[at] != '}')
            return at < quick->end && quick->text[at] == ',' ? at : 0;
        at++;
        if (quick->level == 0)
            return json_skip_space(quick->text, at, quick->end) == quick->end ? quick->end : 0;
        uint32_t begin = quick->open[quick->level].at;
        quick_record(quick, quick->open[quick->level].key, begin, at, JSON_OBJECT);
        quick->level--;
        quick->keys--;
    }
}

// Whether a value is such as members_skip steps over, and no long string.
JSON_INLINE bool quick_is_small(const struct quick *quick, uint32_t begin, uint32_t behind) {
    return (quick->text[begin] | 0x20) != '{' && behind - begin <= JSON_BLOCK_BYTES;
}

// Behind a value, at its comma: goes over more such members, if that is likely to pay.
JSON_INLINE uint32_t quick_row(struct quick *quick, struct members_row *row, uint32_t begin, uint32_t at) {
    uint32_t behind =
        members_row(row, quick_is_small(quick, begin, at), quick->text, at, quick->end, quick->level);
    assert(behind >= at);
    if (behind != at)
        go_to(quick, behind);
    return behind;
}

// Goes over the member that nearly all bodies begin with, where it is written as nearly all write it, to the comma
// behind it.
JSON_INLINE uint32_t quick_first(struct quick *quick) {
    static const char first[] = "{\"jsonrpc\":\"2.0\"";
    enum { BYTES = sizeof first - 1, KEY_BYTES = sizeof "{\"jsonrpc\":" - 1 };
    if (memcmp(quick->text, first, BYTES) != 0 || quick->text[BYTES] != ',' || quick->end <= BYTES)
        return 0;
    quick->seen = UINT32_C(1) << KEY_JSONRPC;
    quick_record(quick, KEY_JSONRPC, KEY_BYTES, BYTES, JSON_STRING);
    quick->quotes &= ~json_bits_below(BYTES);
    return BYTES;
}

JSON_INLINE bool walk(const struct quick_level *level, struct quick *quick) {
    struct members_row row = {.wanted = MEMBERS_ROW_BEGINS};
    unsigned key = KEY_OTHER;
    for (uint32_t at = quick_first(quick);;) { // an opening bracket or a comma
        at = quick_key(level, quick, &key, at);
        if (at == 0)
            return false;
        uint32_t begin = at + 1;
        if (!likely(next_quote(quick) == begin))
            begin = quick_to_token(quick, begin);
        if (next_quote(quick) == begin)
            at = quick_string(quick, key, begin);
        else if (quick_enter(quick, key, begin))
            at = begin;
        else
            at = quick_other(level, quick, key, begin);
        if (at == 0)
            return false;
        if (at == begin)
            continue;
        if (quick->text[at] == ',') { // one behind the end has no key behind it
            at = key == KEY_OTHER ? quick_row(quick, &row, begin, at) : at;
            continue;
        }
        at = quick_closing(quick, at);
        if (at == 0 || at == quick->end)
            return at != 0;
    }
}

// --- One of each level. Without vector code all bodies are left to the walk over any.

JSON_INLINE bool look_quick(const struct quick_level *level, struct lookup *lookup, const uint8_t *body,
                            uint32_t bytes, struct walked *walked) {
    struct quotes_map map;
    quotes_map_make(level, &map, body, bytes);
    struct quick quick; // without zeros where nothing is open
    quick.text = body;
    quick.map = &map;
    quick.lookup = lookup;
    quick.end = bytes;
    quick.seen = 0;
    quick.quotes = map.quotes[0];
    quick.block = 0;
    quick.level = 0;
    quick.keys = key_levels;
    if (!walk(level, &quick))
        return false;
    assert(quick.level == 0 && lookup->present == 0);
    lookup->present = quick.seen & ((UINT32_C(1) << LOOKUP_KEYS_COUNT) - 1);
    *walked = (struct walked){.seen = quick.seen, .ascii = map.ascii};
    return true;
}

typedef bool lookup_quick_of(struct lookup *lookup, const uint8_t *body, uint32_t bytes,
                             struct walked *walked);

static bool quick_portable(struct lookup *lookup, const uint8_t *body, uint32_t bytes,
                           struct walked *walked) {
    (void)lookup, (void)body, (void)bytes, (void)walked;
    return false;
}
#if defined(__x86_64__)
JSON_TARGET_AVX2 static bool quick_avx2(struct lookup *lookup, const uint8_t *body, uint32_t bytes,
                                        struct walked *walked) {
    static const struct quick_level level = {
        common_masks_avx2,       plain_avx2,       json_string_masks_avx2, json_high_avx2,
        json_bracket_masks_avx2, json_parity_avx2, key_find_closed};
    return look_quick(&level, lookup, body, bytes, walked);
}
JSON_TARGET_AVX512 static bool quick_avx512(struct lookup *lookup, const uint8_t *body, uint32_t bytes,
                                            struct walked *walked) {
    static const struct quick_level level = {
        common_masks_avx512,       plain_avx512,       json_string_masks_avx512, json_high_avx512,
        json_bracket_masks_avx512, json_parity_avx512, key_find_closed};
    return look_quick(&level, lookup, body, bytes, walked);
}
#endif

static lookup_quick_of *const quicks[JSON_LEVELS_COUNT] = {
    quick_portable,
#if defined(__x86_64__)
    quick_avx2,
    quick_avx512,
#endif
};

bool lookup_quick(struct lookup *lookup, const uint8_t *body, uint32_t bytes, struct walked *walked) {
    if (bytes > QUOTES_BYTES_MAX || body[0] != '{')
        return false;
    return quicks[json_level_in_use()](lookup, body, bytes, walked);
}
