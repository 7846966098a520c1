// Decodes JSON strings (RFC 8259 section 7).
#include <assert.h>
#include <string.h>

#include "core/json/json.h"
#include "core/json/json_block.h"

static bool json_string_is_digit(uint8_t byte) {
    return (uint8_t)(byte - '0') < 10;
}

static uint32_t hex4(const uint8_t *text, uint32_t at, uint32_t end) {
    assert(at <= end);
    uint32_t value = 0;
    if (end - at < 4)
        return UINT32_MAX;
    for (uint32_t behind = at + 4; at < behind; at++) {
        uint8_t lower = text[at] | 0x20;
        if (json_string_is_digit(text[at]))
            value = value << 4 | (uint32_t)(text[at] - '0');
        else if (lower >= 'a' && lower <= 'f')
            value = value << 4 | (uint32_t)(lower - 'a' + 10);
        else
            return UINT32_MAX;
    }
    assert(value <= 0xffff);
    return value;
}

static unsigned utf8_write(uint32_t code, char out[4]) {
    assert(code < 0xd800 || (code > 0xdfff && code <= 0x10ffff));
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    unsigned more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const uint8_t lead[4] = {0, 0xc0, 0xe0, 0xf0};
    out[0] = (char)(lead[more] | code >> (6 * more));
    for (unsigned index = 1; index <= more; index++)
        out[index] = (char)(0x80 | (code >> (6 * (more - index)) & 0x3f));
    return more + 1;
}

// Decodes one \u escape, or two that are a surrogate pair (RFC 8259 section 7). `at` is behind the u. Returns the
// offset behind, or UINT32_MAX for a malformed escape.
static uint32_t unicode_decode(const uint8_t *text, uint32_t at, uint32_t end, char out[4], unsigned *bytes) {
    assert(text[at - 1] == 'u');
    uint32_t code = hex4(text, at, end);
    if (code == UINT32_MAX)
        return UINT32_MAX;
    at += 4;
    if (code >= 0xd800 && code <= 0xdfff) {
        uint32_t low = UINT32_MAX;
        if (code < 0xdc00 && end - at >= 6 && text[at] == '\\' && text[at + 1] == 'u')
            low = hex4(text, at + 2, end);
        if (low >= 0xdc00 && low <= 0xdfff) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            at += 6;
        } else {
            code = 0xfffd;
        }
    }
    assert(at <= end);
    *bytes = utf8_write(code, out);
    return at;
}

// Decodes the next 1 to 4 bytes of the string, from `at` on. Returns the offset behind, or UINT32_MAX if the string
// isn't JSON there.
static uint32_t string_decode_next(const uint8_t *text, uint32_t at, uint32_t end, char out[4],
                                   unsigned *bytes) {
    assert(at < end);
    static const char escapes[] =
        "\"\"\\\\//b\bf\fn\nr\rt\t"; // pairs: the byte behind the backslash, and its meaning
    *bytes = 1;
    out[0] = (char)text[at];
    if (text[at] != '\\')
        return text[at] >= 0x20 && text[at] != '"' ? at + 1 : UINT32_MAX;
    if (end - at < 2)
        return UINT32_MAX;
    if (text[at + 1] == 'u')
        return unicode_decode(text, at + 2, end, out, bytes);
    for (const char *escape = escapes; *escape != 0; escape += 2)
        if ((uint8_t)*escape == text[at + 1]) {
            out[0] = escape[1];
            return at + 2;
        }
    return UINT32_MAX;
}

bool json_string_quoted(const uint8_t *text, struct span string) {
    return string.bytes >= 2 && text[string.at] == '"' && text[string.at + string.bytes - 1] == '"';
}

#ifdef __SSE2__
enum { PLAIN_BYTES = 16 };

// Copies PLAIN_BYTES. Returns whether none of the first `count` bytes is a backslash, a quote or a control character.
static bool copy_plain_part(const uint8_t *from, size_t count, char *out) {
    __m128i bytes = _mm_loadu_si128((const __m128i *)from);
    __m128i slashes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
    __m128i quotes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
    __m128i controls = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
    _mm_storeu_si128((__m128i *)out, bytes);
    unsigned special = (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(slashes, quotes), controls));
    return !(special & json_bits_below(count));
}
#else
enum { PLAIN_BYTES = 8 };

static bool copy_plain_part(const uint8_t *from, size_t count, char *out) {
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    uint64_t word = json_word_load(from);
    uint64_t slash = word ^ ones * '\\', quote = word ^ ones * '"';
    uint64_t special = ((word - ones * 0x20) & ~word) | ((slash - ones) & ~slash) | ((quote - ones) & ~quote);
    memcpy(out, from, PLAIN_BYTES);
    return !(special & tops & json_bits_below(8 * (uint64_t)count));
}
#endif

// Copies a string without escapes. Returns false if there is an escape or an invalid byte. May write up to PLAIN_BYTES
// - 1 bytes of `out` behind the string.
static bool copy_plain(const uint8_t *inside, size_t bytes, char *out) {
    for (size_t at = 0; at < bytes; at += PLAIN_BYTES)
        if (!copy_plain_part(inside + at, bytes - at, out + at))
            return false;
    return true;
}

// Decodes a string that has escapes, or hardly fits. Such strings are rare. Not inlined, since this function's prologue
// would slow down all other strings.
static __attribute__((noinline)) size_t decode_any(const uint8_t *text, struct span string, char *out,
                                                   size_t capacity) {
    size_t inside = string.bytes - 2, written = 0;
    if (!memchr(text + string.at + 1, '\\', inside)) {
        if (inside > capacity || !json_string_valid(text, string))
            return SIZE_MAX;
        memcpy(out, text + string.at + 1, inside);
        return inside;
    }
    for (uint32_t at = string.at + 1, end = string.at + string.bytes - 1; at < end;) {
        char unit[4];
        unsigned bytes;
        at = string_decode_next(text, at, end, unit, &bytes);
        if (at == UINT32_MAX || capacity - written < bytes)
            return SIZE_MAX;
        memcpy(out + written, unit, bytes);
        written += bytes;
    }
    assert(written <= capacity && written < inside);
    return written;
}

size_t json_string_decode(const uint8_t *text, struct span string, char *out, size_t capacity) {
    if (!json_string_quoted(text, string))
        return SIZE_MAX;
    size_t inside = string.bytes - 2;
    if (inside + PLAIN_BYTES <= capacity && copy_plain(text + string.at + 1, inside, out))
        return inside; // nearly all strings are plain
    return decode_any(text, string, out, capacity);
}

size_t json_cut_at_character(const char *text, size_t bytes, size_t most) {
    if (bytes <= most)
        return bytes;
    while (most > 0 && ((uint8_t)text[most] & 0xc0) == 0x80)
        most--;
    return most;
}

// Decodes one more character than fits, to know whether the last character is cut.
size_t json_string_decode_begin(const uint8_t *text, struct span string, char *out, size_t capacity) {
    size_t written = 0;
    if (!json_string_quoted(text, string))
        return 0;
    for (uint32_t at = string.at + 1, end = string.at + string.bytes - 1; at < end;) {
        char unit[4];
        unsigned bytes;
        at = string_decode_next(text, at, end, unit, &bytes);
        if (at == UINT32_MAX)
            break;
        if (capacity - written >= bytes) {
            memcpy(out + written, unit, bytes);
            written += bytes;
            continue;
        }
        // The next byte begins a character, or continues one that has been written in part.
        while (((uint8_t)unit[0] & 0xc0) == 0x80 && written > 0)
            unit[0] = out[--written];
        break;
    }
    assert(written <= capacity);
    return written;
}

// Returns the offset behind the literal in the string; UINT32_MAX if the string doesn't begin with the literal.
static uint32_t json_string_meet(const uint8_t *text, struct span string, const char *literal) {
    assert(json_string_quoted(text, string));
    uint32_t at = string.at + 1, end = string.at + string.bytes - 1;
    for (size_t left = strlen(literal); left > 0;) {
        char unit[4];
        unsigned bytes;
        at = at < end ? string_decode_next(text, at, end, unit, &bytes) : UINT32_MAX;
        if (at == UINT32_MAX || left < bytes || memcmp(literal, unit, bytes) != 0)
            return UINT32_MAX;
        assert(bytes > 0 && at <= end);
        literal += bytes;
        left -= bytes;
    }
    return at;
}

bool json_string_is(const uint8_t *text, struct span string, const char *literal) {
    return json_string_quoted(text, string) &&
           json_string_meet(text, string, literal) == string.at + string.bytes - 1;
}

bool json_string_begins(const uint8_t *text, struct span string, const char *literal) {
    return json_string_quoted(text, string) && json_string_meet(text, string, literal) != UINT32_MAX;
}

// Reads the meaning of a string, byte by byte. A byte that one string escapes may stand plain in another string, and an
// escape means up to 4 bytes.
struct meaning {
    const uint8_t *text;
    uint32_t at, end;
    unsigned read, bytes; // bytes read, and bytes, of `unit`
    char unit[4];
};

enum { MEANING_END = -1, MEANING_BROKEN = -2 };

static struct meaning meaning_of(const uint8_t *text, struct span string) {
    assert(json_string_quoted(text, string));
    return (struct meaning){.text = text, .at = string.at + 1, .end = string.at + string.bytes - 1};
}

static int meaning_next(struct meaning *meaning) {
    assert(meaning->read <= meaning->bytes && meaning->at <= meaning->end);
    if (meaning->read == meaning->bytes) {
        if (meaning->at == meaning->end)
            return MEANING_END;
        meaning->at =
            string_decode_next(meaning->text, meaning->at, meaning->end, meaning->unit, &meaning->bytes);
        meaning->read = 0;
        if (meaning->at == UINT32_MAX)
            return MEANING_BROKEN;
    }
    assert(meaning->read < meaning->bytes && meaning->bytes <= sizeof meaning->unit);
    return (uint8_t)meaning->unit[meaning->read++];
}

bool json_strings_same(const uint8_t *text, struct span value, const uint8_t *other_text, struct span other) {
    struct meaning one = meaning_of(text, value), another = meaning_of(other_text, other);
    int next;
    do {
        next = meaning_next(&one);
        if (next == MEANING_BROKEN || next != meaning_next(&another))
            return false;
    } while (next != MEANING_END);
    return true;
}

// --- Skipping a value
//
// Skips strings and containers, and judges strings, 64 bytes at a time.
//
// A container is refused if its outermost brackets are not of one kind. json_block.h says how its end is found.
//
// If the text ends inside the value, the result is UINT32_MAX.

// --- The algorithms, once for all levels.

// Returns the offset behind the string. *plain: the string has neither a backslash nor a control character, and so is
// valid.
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

// Returns the offset behind the escape whose backslash lies at `at`, or UINT32_MAX if the escape is malformed.
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

// Returns whether the content of a string, from `at` to `end` between its quotes, is valid.
JSON_INLINE bool inside_valid(json_string_masks_of *masks_of, const uint8_t *text, uint32_t at,
                              uint32_t end) {
    assert(at <= end);
    uint32_t passed = at; // the offset behind the last escape
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

// Returns whether the text is ASCII, as nearly all bodies are.
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

// --- The instances for each level.

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

// --- The choice of the level. The level is set before main and then only read, so threads need no memory order.

static enum json_level level_in_use = JSON_LEVEL_PORTABLE;

static bool level_served(enum json_level level) {
    assert(level < JSON_LEVELS_COUNT);
#if defined(__x86_64__)
    __builtin_cpu_init(); // this constructor may run before the C library's own
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
