// First finds all quotes of the body (below). Then the walk goes from quote to quote. Of strings only keys are read
// again. Bytes between strings are read only where they alone decide the next token.
//
// On failure or in doubt, the body is left to the walk over any body (lookup_walk.c), from the beginning. So only that
// walk reports faults.
#include "core/lookup/lookup_quick.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/json/json_block.h"
#include "core/lookup/lookup_key.h"
#include "core/lookup/lookup_members.h"

// --- Quotes
//
// Finds all quotes of a text, 64 bytes at a time. The same pass finds out whether the text has any byte that isn't
// plain: a backslash, a control character, a byte beyond ASCII.
//
// Escaped quotes are excluded for the whole text at once. The result is right up to the first backslash outside
// strings, which the walk refuses.

enum { QUOTES_BYTES_MAX = 32768, QUOTES_BLOCKS_MAX = QUOTES_BYTES_MAX / JSON_BLOCK_BYTES };

struct quotes_map {
    uint64_t quotes[QUOTES_BLOCKS_MAX + 1]; // unescaped quotes; all ones behind the last block
    // Backslashes and control characters, from the first block on that has any
    uint64_t special[QUOTES_BLOCKS_MAX];
    uint32_t special_at; // offsets of the first and the last of `special`; UINT32_MAX if there are none
    uint32_t special_last;
    bool ascii;
};

struct common_masks {
    uint64_t quote;
    uint64_t odd; // backslashes, control characters and bytes beyond ASCII
};
typedef struct common_masks common_masks_of(const uint8_t *block);
// Returns whether no byte of a block is odd; sets *quotes in any case.
typedef bool plain_of(const uint8_t *block, uint64_t *quotes);

#if defined(__x86_64__)

// As signed numbers, bytes beyond ASCII are less than the control characters.
JSON_TARGET_AVX2 JSON_INLINE __m256i odd_avx2(__m256i bytes) {
    return _mm256_or_si256(_mm256_cmpgt_epi8(_mm256_set1_epi8(0x20), bytes),
                           _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\\')));
}
JSON_TARGET_AVX2 JSON_INLINE struct common_masks common_masks_avx2(const uint8_t *block) {
    __m256i low = _mm256_loadu_si256((const __m256i *)block);
    __m256i high = _mm256_loadu_si256((const __m256i *)(block + 32));
    return (struct common_masks){
        .quote = json_equal_avx2(low, high, '"'),
        .odd = json_join_avx2(odd_avx2(low), odd_avx2(high)),
    };
}
JSON_TARGET_AVX2 JSON_INLINE bool plain_avx2(const uint8_t *block, uint64_t *quotes) {
    __m256i low = _mm256_loadu_si256((const __m256i *)block);
    __m256i high = _mm256_loadu_si256((const __m256i *)(block + 32));
    __m256i odd = _mm256_or_si256(odd_avx2(low), odd_avx2(high));
    *quotes = json_equal_avx2(low, high, '"');
    return _mm256_testz_si256(odd, odd);
}
JSON_TARGET_AVX512 JSON_INLINE bool plain_avx512(const uint8_t *block, uint64_t *quotes) {
    __m512i bytes = _mm512_loadu_si512(block);
    __mmask64 plain = _mm512_cmpge_epi8_mask(bytes, _mm512_set1_epi8(0x20));
    plain = _mm512_mask_cmpneq_epi8_mask(plain, bytes, _mm512_set1_epi8('\\'));
    *quotes = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('"'));
    return _kortestc_mask64_u8(plain, plain);
}
JSON_TARGET_AVX512 JSON_INLINE struct common_masks common_masks_avx512(const uint8_t *block) {
    __m512i bytes = _mm512_loadu_si512(block);
    return (struct common_masks){
        .quote = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('"')),
        .odd = _mm512_cmplt_epi8_mask(bytes, _mm512_set1_epi8(0x20)) |
               _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\\')),
    };
}

#endif

// The functions of a level of vector code for the quick walk. Always a constant, so that all calls are inlined.
struct quick_level {
    common_masks_of *common_of;
    plain_of *plain_of;
    json_string_masks_of *strings_of;
    json_high_of *high_of;
    json_bracket_masks_of *brackets_of;
    json_parity_of *parity_of;
    key_find_of *key_of;
};

// Finds the first and the last special byte, among the blocks from `block` to the end.
static inline void quotes_special_find(struct quotes_map *map, uint32_t block, uint32_t end) {
    uint32_t word = block / JSON_BLOCK_BYTES, last = (end - 1) / JSON_BLOCK_BYTES;
    while (map->special[word] == 0)
        word++;
    while (map->special[last] == 0)
        last--;
    assert(word <= last);
    map->special_at = word * JSON_BLOCK_BYTES + json_lowest(map->special[word]);
    map->special_last = last * JSON_BLOCK_BYTES + 63 - (uint32_t)__builtin_clzll(map->special[last]);
}

// Fills the rest of the map, from the first block on that isn't plain.
JSON_INLINE void quotes_map_odd(const struct quick_level *level, struct quotes_map *map, const uint8_t *text,
                                uint32_t block, uint32_t end) {
    uint64_t before = 0, special = 0, high = 0;
    for (uint32_t at = block; at < end; at += JSON_BLOCK_BYTES) {
        uint64_t limit = json_bits_below(end - at);
        struct json_string_masks masks = level->strings_of(text + at);
        uint64_t quotes = json_quotes(text, at, 0, masks.quote, masks.backslash, &before);
        uint64_t here = (masks.backslash | masks.control) & limit;
        map->quotes[at / JSON_BLOCK_BYTES] = quotes & limit;
        map->special[at / JSON_BLOCK_BYTES] = here;
        special |= here;
        high |= level->high_of(text + at) & limit;
    }
    map->quotes[(end + JSON_BLOCK_BYTES - 1) / JSON_BLOCK_BYTES] = UINT64_MAX;
    map->ascii = high == 0;
    if (special != 0)
        quotes_special_find(map, block, end);
}

JSON_INLINE void quotes_map_make(const struct quick_level *level, struct quotes_map *map, const uint8_t *text,
                                 uint32_t end) {
    assert(end > 0 && end <= QUOTES_BYTES_MAX);
    map->ascii = true;
    map->special_at = map->special_last = UINT32_MAX;
    uint64_t *word = map->quotes;
    uint32_t block = 0;
    for (; end - block > JSON_BLOCK_BYTES; block += JSON_BLOCK_BYTES)
        if (!likely(level->plain_of(text + block, word++))) {
            quotes_map_odd(level, map, text, block, end);
            return;
        }
    uint64_t limit = json_bits_below(end - block);
    struct common_masks masks = level->common_of(text + block);
    word[0] = masks.quote & limit;
    word[1] = UINT64_MAX;
    if (!likely((masks.odd & limit) == 0))
        quotes_map_odd(level, map, text, block, end);
}

// Returns the block of the first quote from `block` on. There always is one, at the latest behind the end.
JSON_INLINE uint32_t quotes_block_from(const struct quotes_map *map, uint32_t block) {
    while (map->quotes[block / JSON_BLOCK_BYTES] == 0)
        block += JSON_BLOCK_BYTES;
    return block;
}

// Returns whether no special byte lies from `at` to `end`. Searches the map from the first special byte on.
static inline bool quotes_plain_among(const struct quotes_map *map, uint32_t at, uint32_t end) {
    at = at < map->special_at ? map->special_at : at;
    uint32_t word = at / JSON_BLOCK_BYTES, last = end / JSON_BLOCK_BYTES;
    assert(at <= end && last < QUOTES_BLOCKS_MAX);
    uint64_t bits = map->special[word] & ~json_bits_below(at % JSON_BLOCK_BYTES);
    while (word < last && bits == 0)
        bits = map->special[++word];
    return word == last && (bits & json_bits_below(end % JSON_BLOCK_BYTES)) == 0;
}

// Returns whether no special byte lies between two quotes.
JSON_INLINE bool quotes_plain_between(const struct quotes_map *map, uint32_t opening, uint32_t closing) {
    assert(opening < closing);
    bool before = closing < map->special_at;
    bool behind = opening > map->special_last;
    return likely(before | behind) || // one branch for both conditions
           quotes_plain_among(map, opening, closing);
}

// --- The walk

struct quick {
    const uint8_t *text;
    const struct quotes_map *map;
    struct lookup *lookup;
    uint32_t end;
    uint32_t seen;
    uint64_t quotes; // quotes of the block that the walk hasn't reached
    uint32_t block;
    unsigned level;
    const struct key_level *keys; // keys of `level`
    struct {                      // the open objects of levels 1 and 2
        uint32_t at;
        unsigned key;
    } open[KEY_LEVELS];
};

// Returns the offset of the next quote; there always is one behind the end.
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

// Returns the closing quote of the string that the next quote opens, and passes both quotes.
JSON_INLINE uint32_t closing_quote(struct quick *quick) {
    pass_quote(quick);
    uint32_t closing = next_quote(quick);
    pass_quote(quick);
    return closing;
}

// Lets the walk go on at `at`, which must be outside strings.
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

// Goes from the bracket or comma before a key to the colon behind the key. Returns 0 if this walk can't decide.
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

// Returns the offset behind the container that opens at `at`; 0 if the container has no end.
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

// Goes behind the string that the next quote opens. Returns 0 if this walk can't decide.
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

// Enters the value at `at` if it is an object to be walked and isn't empty. Returns whether the walk has entered.
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

// Goes behind a value other than a string. Returns 0 if this walk can't decide.
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

// Goes from the end of a value to the next comma, through the brackets that close here. Goes to the end of the body if
// the top level closes. Returns 0 if there is anything else.
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

// Returns whether members_skip could skip the value, and the value is no long string.
JSON_INLINE bool quick_is_small(const struct quick *quick, uint32_t begin, uint32_t behind) {
    return (quick->text[begin] | 0x20) != '{' && behind - begin <= JSON_BLOCK_BYTES;
}

// Skips more such members from the comma behind a value, if that is likely to pay.
JSON_INLINE uint32_t quick_row(struct quick *quick, struct members_row *row, uint32_t begin, uint32_t at) {
    uint32_t behind =
        members_row(row, quick_is_small(quick, begin, at), quick->text, at, quick->end, quick->level);
    assert(behind >= at);
    if (behind != at)
        go_to(quick, behind);
    return behind;
}

// Skips the member that nearly all bodies begin with, in its most frequent spelling. Returns the offset of the comma
// behind it, or 0.
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
    for (uint32_t at = quick_first(quick);;) { // `at` is at an opening bracket or a comma
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
        if (quick->text[at] == ',') { // a comma behind the end has no key behind it
            at = key == KEY_OTHER ? quick_row(quick, &row, begin, at) : at;
            continue;
        }
        at = quick_closing(quick, at);
        if (at == 0 || at == quick->end)
            return at != 0;
    }
}

// --- The instances for each level. Without vector code all bodies are left to the walk over any body.

JSON_INLINE bool look_quick(const struct quick_level *level, struct lookup *lookup, const uint8_t *body,
                            uint32_t bytes, struct walked *walked) {
    struct quotes_map map;
    quotes_map_make(level, &map, body, bytes);
    struct quick quick; // not zeroed: fields of `open` are set before use
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
