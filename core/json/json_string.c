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

// Decodes one \u escape, or two that are a surrogate pair (RFC 8259 section 7). `at` is behind the u.
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

// Decodes the next 1 to 4 bytes of the string, from `at` on. Returns the offset behind, or UINT32_MAX where
// no JSON string goes on so.
static uint32_t string_decode_next(const uint8_t *text, uint32_t at, uint32_t end, char out[4],
                                   unsigned *bytes) {
    assert(at < end);
    static const char escapes[] =
        "\"\"\\\\//b\bf\fn\nr\rt\t"; // what follows the backslash, then what it means
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

// Copies so many bytes, of which the first `count` are judged: whether none is a backslash, a quote or a control
// character.
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

// Copies a string that means what it spells; false when it doesn't. Up to PLAIN_BYTES - 1 bytes of `out` behind the
// string are written too.
static bool copy_plain(const uint8_t *inside, size_t bytes, char *out) {
    for (size_t at = 0; at < bytes; at += PLAIN_BYTES)
        if (!copy_plain_part(inside + at, bytes - at, out + at))
            return false;
    return true;
}

// Decodes a string that holds other than plain characters, or hardly fits. Such strings are rare, and apart
// from the others: the begin of this function would cost all others.
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
        return inside; // as nearly all are
    return decode_any(text, string, out, capacity);
}

size_t json_cut_at_character(const char *text, size_t bytes, size_t most) {
    if (bytes <= most)
        return bytes;
    while (most > 0 && ((uint8_t)text[most] & 0xc0) == 0x80)
        most--;
    return most;
}

// One more byte than fits is decoded, so that a character that is cut is known.
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
        // The next byte is the begin of a character, or goes on with one whose begin is out.
        while (((uint8_t)unit[0] & 0xc0) == 0x80 && written > 0)
            unit[0] = out[--written];
        break;
    }
    assert(written <= capacity);
    return written;
}

// Where in a string the literal has been met; UINT32_MAX: it is something else.
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

// A string's meaning, byte for byte: what one string escapes may lie plain in another, and an escape means up
// to 4 bytes.
struct meaning {
    const uint8_t *text;
    uint32_t at, end;
    unsigned read, bytes; // of the unit
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
