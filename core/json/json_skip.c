// Skips over strings and containers, and judges a string, 64 bytes at a time.
//
// The outermost brackets of a container are of one kind, or it is refused. The way to its end is in
// json_block.h.
//
// On failure, when the text ends inside the value, the result is UINT32_MAX.

#include "core/json/json.h"

#include <assert.h>

#include "core/json/json_block.h"

// --- The algorithms, once for all levels.

// *plain: it holds neither a backslash nor a control character, and so is valid.
JSON_INLINE uint32_t string_end(json_string_masks_of *masks_of, const uint8_t *text, uint32_t at,
                                uint32_t end, bool *plain) {
    uint64_t before = 0, special = 0;
    for (uint64_t block = (uint64_t)at + 1; block < end; block += JSON_BLOCK_BYTES) {
        struct json_string_masks masks = masks_of(text + block);
        uint64_t quotes = json_quotes(text, block, at, masks.quote, masks.backslash, &before);
        if (quotes != 0) {
            uint64_t behind = block + json_lowest(quotes) + 1;
            assert(behind >= (uint64_t)at + 2);
            *plain = (special | ((masks.backslash | masks.control) & (quotes - 1) & ~quotes)) == 0;
            return behind <= end ? (uint32_t)behind : UINT32_MAX;
        }
        special |= masks.backslash | masks.control;
    }
    *plain = special == 0;
    return UINT32_MAX;
}

JSON_INLINE uint32_t container_end(json_bracket_masks_of *masks_of, json_parity_of *parity_of,
                                   const uint8_t *text, uint32_t at, uint32_t end) {
    struct json_depth depth = {0};
    uint64_t before = 0;
    for (uint64_t block = at; block < end; block += JSON_BLOCK_BYTES) {
        struct json_bracket_masks masks = masks_of(text + block);
        uint64_t quotes = json_quotes(text, block, at, masks.quote, masks.backslash, &before);
        uint32_t last = json_depth_block(&depth, parity_of, quotes, masks.open, masks.close);
        if (last < JSON_BLOCK_BYTES) {
            bool whole = block + last < end && text[block + last] == text[at] + 2;
            return whole ? (uint32_t)(block + last + 1) : UINT32_MAX;
        }
    }
    return UINT32_MAX;
}

static uint32_t hex_digits(const uint8_t *text, uint32_t at, uint32_t end) {
    assert(at <= end);
    uint32_t count = 0;
    while (count < 4 && at + count < end &&
           ((text[at + count] >= '0' && text[at + count] <= '9') ||
            ((text[at + count] | 0x20) >= 'a' && (text[at + count] | 0x20) <= 'f')))
        count++;
    return count;
}

// The offset behind the escape whose backslash lies at `at`, or UINT32_MAX when it is none.
static uint32_t escape_end(const uint8_t *text, uint32_t at, uint32_t end) {
    assert(at < end && text[at] == '\\');
    if (at + 1 >= end)
        return UINT32_MAX;
    switch (text[at + 1]) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        return at + 2;
    case 'u':
        return hex_digits(text, at + 2, end) == 4 ? at + 6 : UINT32_MAX;
    default:
        return UINT32_MAX;
    }
}

// `at` and `end` enclose what is between the quotes.
JSON_INLINE bool inside_valid(json_string_masks_of *masks_of, const uint8_t *text, uint32_t at,
                              uint32_t end) {
    assert(at <= end);
    uint32_t passed = at; // up to here by the last escape
    for (uint64_t block = at; block < end; block += JSON_BLOCK_BYTES) {
        struct json_string_masks masks = masks_of(text + block);
        uint64_t limit = json_bits_below(end - block);
        if ((masks.control & limit) != 0)
            return false;
        for (uint64_t special = (masks.backslash | masks.quote) & limit; special != 0;
             special &= special - 1) {
            uint32_t here = (uint32_t)block + json_lowest(special);
            if (here < passed)
                continue;
            if (text[here] == '"')
                return false;
            passed = escape_end(text, here, end);
            if (passed == UINT32_MAX)
                return false;
        }
    }
    return true;
}

// A body is nearly always all ASCII.
JSON_INLINE bool ascii(json_high_of *high_of, json_any_high_of *any_high_of, const uint8_t *text,
                       uint32_t end) {
    uint32_t at = 0;
    for (; end - at >= JSON_HIGH_BYTES; at += JSON_HIGH_BYTES)
        if (any_high_of(text + at))
            return false;
    uint64_t high = 0;
    for (; end - at >= JSON_BLOCK_BYTES; at += JSON_BLOCK_BYTES)
        high |= high_of(text + at);
    return (high | (high_of(text + at) & json_bits_below(end - at))) == 0;
}

// --- One of each a level.

struct kernels {
    uint32_t (*string_end)(const uint8_t *text, uint32_t at, uint32_t end, bool *plain);
    uint32_t (*container_end)(const uint8_t *text, uint32_t at, uint32_t end);
    bool (*inside_valid)(const uint8_t *text, uint32_t at, uint32_t end);
    bool (*ascii)(const uint8_t *text, uint32_t end);
};

static uint32_t string_end_portable(const uint8_t *text, uint32_t at, uint32_t end, bool *plain) {
    return string_end(json_string_masks_portable, text, at, end, plain);
}
static uint32_t container_end_portable(const uint8_t *text, uint32_t at, uint32_t end) {
    return container_end(json_bracket_masks_portable, json_parity_portable, text, at, end);
}
static bool inside_valid_portable(const uint8_t *text, uint32_t at, uint32_t end) {
    return inside_valid(json_string_masks_portable, text, at, end);
}
static bool ascii_portable(const uint8_t *text, uint32_t end) {
    return ascii(json_high_portable, json_any_high_portable, text, end);
}

#if defined(__x86_64__)
JSON_TARGET_AVX2 static uint32_t string_end_avx2(const uint8_t *text, uint32_t at, uint32_t end,
                                                 bool *plain) {
    return string_end(json_string_masks_avx2, text, at, end, plain);
}
JSON_TARGET_AVX2 static uint32_t container_end_avx2(const uint8_t *text, uint32_t at, uint32_t end) {
    return container_end(json_bracket_masks_avx2, json_parity_avx2, text, at, end);
}
JSON_TARGET_AVX2 static bool inside_valid_avx2(const uint8_t *text, uint32_t at, uint32_t end) {
    return inside_valid(json_string_masks_avx2, text, at, end);
}
JSON_TARGET_AVX2 static bool ascii_avx2(const uint8_t *text, uint32_t end) {
    return ascii(json_high_avx2, json_any_high_avx2, text, end);
}
JSON_TARGET_AVX512 static uint32_t string_end_avx512(const uint8_t *text, uint32_t at, uint32_t end,
                                                     bool *plain) {
    return string_end(json_string_masks_avx512, text, at, end, plain);
}
JSON_TARGET_AVX512 static uint32_t container_end_avx512(const uint8_t *text, uint32_t at, uint32_t end) {
    return container_end(json_bracket_masks_avx512, json_parity_avx512, text, at, end);
}
JSON_TARGET_AVX512 static bool inside_valid_avx512(const uint8_t *text, uint32_t at, uint32_t end) {
    return inside_valid(json_string_masks_avx512, text, at, end);
}
JSON_TARGET_AVX512 static bool ascii_avx512(const uint8_t *text, uint32_t end) {
    return ascii(json_high_avx512, json_any_high_avx512, text, end);
}
#endif

static const struct kernels kernels[JSON_LEVELS_COUNT] = {
    {string_end_portable, container_end_portable, inside_valid_portable, ascii_portable},
#if defined(__x86_64__)
    {string_end_avx2, container_end_avx2, inside_valid_avx2, ascii_avx2},
    {string_end_avx512, container_end_avx512, inside_valid_avx512, ascii_avx512},
#endif
};

// --- The choice of the level. The choice is made before main and then only read, so threads need no order
// among them.

static enum json_level level_in_use = JSON_LEVEL_PORTABLE;

static bool level_served(enum json_level level) {
    assert(level < JSON_LEVELS_COUNT);
#if defined(__x86_64__)
    __builtin_cpu_init(); // a constructor may come before the C library's own
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt") &&
                __builtin_cpu_supports("pclmul");
    if (level == JSON_LEVEL_AVX2)
        return avx2;
    if (level == JSON_LEVEL_AVX512)
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
#endif
    return level == JSON_LEVEL_PORTABLE;
}

__attribute__((constructor)) static void level_find(void) {
    if (!json_level_use(JSON_LEVEL_AVX512))
        json_level_use(JSON_LEVEL_AVX2);
}

enum json_level json_level_in_use(void) {
    assert(level_in_use < JSON_LEVELS_COUNT);
    return level_in_use;
}

bool json_level_use(enum json_level level) {
    if (!level_served(level))
        return false;
    level_in_use = level;
    return true;
}

// --- The functions of json.h

uint32_t json_skip_space(const uint8_t *text, uint32_t at, uint32_t end) {
    while (at < end && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t'))
        at++;
    return at;
}

uint32_t json_skip_string(const uint8_t *text, uint32_t at, uint32_t end) {
    bool plain;
    assert(at < end && text[at] == '"');
    return kernels[level_in_use].string_end(text, at, end, &plain);
}

uint32_t json_skip_valid_string(const uint8_t *text, uint32_t at, uint32_t end) {
    bool plain;
    assert(at < end && text[at] == '"');
    uint32_t behind = kernels[level_in_use].string_end(text, at, end, &plain);
    if (behind == UINT32_MAX || plain)
        return behind;
    return kernels[level_in_use].inside_valid(text, at + 1, behind - 1) ? behind : UINT32_MAX;
}

uint32_t json_skip_container(const uint8_t *text, uint32_t at, uint32_t end) {
    assert(at < end && (text[at] == '{' || text[at] == '['));
    return kernels[level_in_use].container_end(text, at, end);
}

bool json_string_valid(const uint8_t *text, struct span string) {
    uint32_t last = string.at + string.bytes - 1;
    if (string.bytes < 2 || text[string.at] != '"' || text[last] != '"')
        return false;
    return kernels[level_in_use].inside_valid(text, string.at + 1, last);
}

bool json_ascii(const uint8_t *text, uint32_t bytes) {
    return kernels[level_in_use].ascii(text, bytes);
}
