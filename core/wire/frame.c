// The header block and the body's boundary, found in place.
//
// It goes well: each line is name, colon, value, CR LF; at its end the field is judged if it is one of the
// five that the hub reads; a blank line ends the block, and the body's length is known. The block most peers
// send, a canonical Content-Length line alone, is taken at once, without the steps.
//
// It fails: at the first byte that can't stand where it is (fault_at is that byte), at the end of a line
// whose field breaks a rule (fault_at is the start of its value, or of the line for a field that may not come
// twice), at the blank line where no Content-Length came (fault_at is the blank line), or when
// header_bytes_max bytes have come and the block goes on (fault_at is that limit).
#include "core/wire/frame.h"

#include <assert.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/base/text.h"
#include "core/wire/field_text.h"
#include "core/wire/media_type.h"

// What the next byte is. A fresh scan is all zeros, so the start of a line comes first; states from IN_BODY
// on take no more bytes of the block.
enum state { AT_LINE, IN_NAME, IN_VALUE, AT_LINE_FEED, AT_LAST_LINE_FEED, IN_BODY, REFUSED };

// The fields that the hub reads, which are those that may come once only. Also bits of unit.seen.
enum field { FIELD_LENGTH, FIELD_TYPE, FIELD_VERSION, FIELD_GOVERNANCE, FIELD_TIMEOUT, FIELD_OTHER };

enum { LENGTH_DIGITS_MAX = 10, TIMEOUT_MS_MAX = 3600 * 1000 };

static const char length_prefix[] = "Content-Length: ";
enum { LENGTH_PREFIX_BYTES = sizeof length_prefix - 1 };

// Token characters (RFC 9110 section 5.6.2).
static const bool token[256] = {
    ['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['!'] = true,  ['#'] = true,
    ['$'] = true,         ['%'] = true,         ['&'] = true,         ['\''] = true, ['*'] = true,
    ['+'] = true,         ['-'] = true,         ['.'] = true,         ['^'] = true,  ['_'] = true,
    ['`'] = true,         ['|'] = true,         ['~'] = true,
};

static void frame_refuse(struct unit *unit, enum unit_fault fault, uint32_t at) {
    assert(fault > UNIT_FAULT_NONE && fault < UNIT_FAULTS_COUNT && !unit->sized);
    unit->state = REFUSED;
    unit->fault = fault;
    unit->fault_at = at;
}

static bool frame_is_digit(uint8_t byte) {
    return (uint8_t)(byte - '0') < 10;
}

// Anything printable, tab, and bytes from 0x80 on (RFC 9110 section 5.5, obs-text).
static bool may_be_in_value(uint8_t byte) {
    return (byte >= 0x20 && byte != 0x7f) || byte == '\t';
}

#ifdef __SSE2__
static __m128i at_most(__m128i bytes, char limit) {
    return _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(limit)), bytes);
}

// One bit for each of 16 bytes: set where it is neither letter, digit nor hyphen, of which nearly all names
// are made.
static unsigned unusual_in_name(const uint8_t *bytes) {
    __m128i text = _mm_loadu_si128((const __m128i *)bytes);
    __m128i lower = _mm_or_si128(text, _mm_set1_epi8(0x20));
    __m128i letters = at_most(_mm_sub_epi8(lower, _mm_set1_epi8('a')), 25);
    __m128i digits = at_most(_mm_sub_epi8(text, _mm_set1_epi8('0')), 9);
    __m128i hyphens = _mm_cmpeq_epi8(text, _mm_set1_epi8('-'));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(letters, digits), hyphens)) ^ 0xffffu;
}

// One bit for each of 16 bytes: set where may_be_in_value is false.
static unsigned not_in_value(const uint8_t *bytes) {
    __m128i text = _mm_loadu_si128((const __m128i *)bytes);
    __m128i tabs = _mm_cmpeq_epi8(text, _mm_set1_epi8('\t'));
    __m128i deletes = _mm_cmpeq_epi8(text, _mm_set1_epi8(0x7f));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_andnot_si128(tabs, at_most(text, 0x1f)), deletes));
}
#endif

// The offset, from `at` on, of the first byte that is no token character; `end` if there is none.
static uint32_t skip_name(const uint8_t *frame, uint32_t at, uint32_t end) {
#ifdef __SSE2__
    for (; end - at >= 16; at += 16) {
        unsigned stops = unusual_in_name(frame + at);
        if (stops) {
            at += (uint32_t)__builtin_ctz(stops);
            break;
        }
    }
#endif
    while (at < end && token[frame[at]])
        at++;
    return at;
}

// The offset, from `at` on, of the first byte that may not stand in a value; `end` if there is none.
static uint32_t skip_value(const uint8_t *frame, uint32_t at, uint32_t end) {
#ifdef __SSE2__
    for (; end - at >= 16; at += 16) {
        unsigned stops = not_in_value(frame + at);
        if (stops)
            return at + (uint32_t)__builtin_ctz(stops);
    }
#endif
    while (at < end && may_be_in_value(frame[at]))
        at++;
    return at;
}

// Eight bytes with the bit set that tells lower case from upper.
static uint64_t lower_8(const void *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word | UINT64_C(0x2020202020202020);
}

// Whether the 8 to 24 bytes of a name are `lower` but for case. A name's bytes are token characters, of which
// the bit turns only upper-case letters into lower-case ones, and nothing into a hyphen. Three words that
// overlap cover all.
static inline bool is_field(const uint8_t *name, const char *lower, size_t bytes) {
    size_t middle = (bytes - 8) / 2, last = bytes - 8;
    uint64_t differ = lower_8(name) ^ lower_8(lower);
    differ |= lower_8(name + middle) ^ lower_8(lower + middle);
    return (differ | (lower_8(name + last) ^ lower_8(lower + last))) == 0;
}

// No two of the names are of one length, so there is one at most to compare with.
static enum field field_of(const uint8_t *name, uint32_t bytes) {
    switch (bytes) {
    case 12:
        return is_field(name, "content-type", 12) ? FIELD_TYPE : FIELD_OTHER;
    case 13:
        return is_field(name, "hugai-version", 13) ? FIELD_VERSION : FIELD_OTHER;
    case 14:
        return is_field(name, "content-length", 14) ? FIELD_LENGTH : FIELD_OTHER;
    case 16:
        return is_field(name, "governance-level", 16) ? FIELD_GOVERNANCE : FIELD_OTHER;
    case 17:
        return is_field(name, "custom-timeout-ms", 17) ? FIELD_TIMEOUT : FIELD_OTHER;
    default:
        return FIELD_OTHER;
    }
}

// Reads 1 to 10 digits and nothing else; ten of them fit 64 bits with room to spare.
static bool read_decimal(struct field_text text, uint64_t *value) {
    if (text.start == text.end || text.end - text.start > LENGTH_DIGITS_MAX)
        return false;
    *value = 0;
    for (; text.start < text.end; text.start++) {
        if (!frame_is_digit(*text.start))
            return false;
        *value = *value * 10 + (*text.start - '0');
    }
    return true;
}

static enum unit_fault judge_length(struct unit *unit, struct field_text value,
                                    const struct unit_limits *limits) {
    uint64_t bytes;
    if (!read_decimal(value, &bytes))
        return UNIT_FAULT_LENGTH;
    if (bytes == 0)
        return UNIT_FAULT_LENGTH_ZERO;
    if (bytes > limits->body_bytes_max)
        return UNIT_FAULT_BODY_TOO_LARGE;
    unit->body_bytes = (uint32_t)bytes;
    return UNIT_FAULT_NONE;
}

// Keeps where the Content-Length line lies, its value being good, and whether it may leave the hub as it is.
static void keep_length_line(struct unit *unit, const uint8_t *frame, struct field_text value,
                             uint32_t line_end) {
    assert(unit->line_at < line_end && frame[line_end - 1] == '\n');
    unit->length_line_at = unit->line_at;
    unit->length_line_bytes = line_end - unit->line_at;
    unit->canonical = unit->line_at == 0 && memcmp(frame, length_prefix, LENGTH_PREFIX_BYTES) == 0 &&
                      value.start == frame + LENGTH_PREFIX_BYTES && *value.start != '0' &&
                      value.end == frame + line_end - 2;
}

static void judge_version(struct unit *unit, struct field_text value) {
    bool major_2 = value.start < value.end && value.start[0] == '2' &&
                   (value.end - value.start == 1 || value.start[1] == '.');
    unit->directives.version = major_2 ? VERSION_SERVED : VERSION_OTHER;
}

static void judge_governance(struct unit *unit, struct field_text value) {
    enum governance level = governance_parse((const char *)value.start, (size_t)(value.end - value.start));
    unit->directives.governance_given = true;
    unit->directives.governance_bad = level == GOVERNANCE_COUNT;
    if (!unit->directives.governance_bad)
        unit->directives.governance = level;
}

static void judge_timeout(struct unit *unit, struct field_text value) {
    uint64_t ms;
    unit->directives.timeout_given = true;
    unit->directives.timeout_bad = !read_decimal(value, &ms) || ms == 0 || ms > TIMEOUT_MS_MAX;
    if (!unit->directives.timeout_bad)
        unit->directives.timeout_ms = (uint32_t)ms;
}

static enum unit_fault judge_value(struct unit *unit, enum field field, struct field_text value,
                                   const struct unit_limits *limits) {
    switch (field) {
    case FIELD_LENGTH:
        return judge_length(unit, value, limits);
    case FIELD_TYPE:
        return media_type_is_utf8(value.start, (size_t)(value.end - value.start)) ? UNIT_FAULT_NONE
                                                                                  : UNIT_FAULT_CHARSET;
    case FIELD_VERSION:
        judge_version(unit, value);
        break;
    case FIELD_GOVERNANCE:
        judge_governance(unit, value);
        break;
    case FIELD_TIMEOUT:
        judge_timeout(unit, value);
        break;
    case FIELD_OTHER:
        break;
    }
    return UNIT_FAULT_NONE;
}

// The line from line_at to line_end, with its CR LF, is whole and its syntax good.
static void judge_line(struct unit *unit, const uint8_t *frame, uint32_t line_end,
                       const struct unit_limits *limits) {
    assert(unit->line_at < unit->colon_at && unit->colon_at + 2 < line_end);
    enum field field = field_of(frame + unit->line_at, unit->colon_at - unit->line_at);
    if (field == FIELD_OTHER)
        return;
    if (unit->seen & 1u << field) {
        frame_refuse(unit, UNIT_FAULT_REPEATED, unit->line_at);
        return;
    }
    unit->seen |= (uint8_t)(1u << field);
    struct field_text value =
        field_text_trim((struct field_text){frame + unit->colon_at + 1, frame + line_end - 2});
    assert(value.start > frame + unit->colon_at && value.end < frame + line_end);
    enum unit_fault fault = judge_value(unit, field, value, limits);
    if (fault != UNIT_FAULT_NONE)
        frame_refuse(unit, fault, (uint32_t)(value.start - frame));
    else if (field == FIELD_LENGTH)
        keep_length_line(unit, frame, value, line_end);
}

// The steps of the scan: each takes the offset of the next byte, of which there is one at least before `end`,
// and returns the offset it came to. (In a register on the way: kept in *unit it costs twice the time.)
static uint32_t scan_line_start(struct unit *unit, const uint8_t *frame, uint32_t at) {
    if (frame[at] == '\r') {
        unit->state = AT_LAST_LINE_FEED;
        return at + 1;
    }
    if (token[frame[at]])
        unit->state = IN_NAME;
    else
        frame_refuse(unit, frame[at] == '\n' ? UNIT_FAULT_LINE_END : UNIT_FAULT_NAME, at);
    return at;
}

static uint32_t scan_name(struct unit *unit, const uint8_t *frame, uint32_t at, uint32_t end) {
    at = skip_name(frame, at, end);
    if (at == end)
        return at;
    if (frame[at] != ':') {
        frame_refuse(unit, UNIT_FAULT_NAME, at);
        return at;
    }
    unit->colon_at = at;
    unit->state = IN_VALUE;
    return at + 1;
}

static uint32_t scan_value(struct unit *unit, const uint8_t *frame, uint32_t at, uint32_t end) {
    at = skip_value(frame, at, end);
    if (at == end)
        return at;
    if (frame[at] != '\r') {
        frame_refuse(unit, frame[at] == '\n' ? UNIT_FAULT_LINE_END : UNIT_FAULT_VALUE, at);
        return at;
    }
    unit->state = AT_LINE_FEED;
    return at + 1;
}

static uint32_t scan_line_feed(struct unit *unit, const uint8_t *frame, uint32_t at,
                               const struct unit_limits *limits) {
    if (frame[at] != '\n') {
        frame_refuse(unit, UNIT_FAULT_LINE_END, at);
        return at;
    }
    unit->state = AT_LINE;
    judge_line(unit, frame, at + 1, limits);
    unit->line_at = at + 1;
    return at + 1;
}

static uint32_t scan_last_line_feed(struct unit *unit, const uint8_t *frame, uint32_t at) {
    if (frame[at] != '\n') {
        frame_refuse(unit, UNIT_FAULT_LINE_END, at);
        return at;
    }
    if (!(unit->seen & 1u << FIELD_LENGTH)) {
        frame_refuse(unit, UNIT_FAULT_LENGTH_MISSING, unit->line_at);
        return at;
    }
    assert(unit->body_bytes > 0);
    unit->state = IN_BODY;
    unit->sized = true;
    unit->body_at = at + 1;
    unit->bytes = unit->body_at + unit->body_bytes;
    return at + 1;
}

// Takes a canonical Content-Length line with which a frame starts; leaves all as it was if there is none, or
// if it isn't whole, or breaks a limit.
static void take_canonical_line(struct unit *unit, const uint8_t *frame, uint32_t end,
                                const struct unit_limits *limits) {
    assert(unit->at == 0 && unit->seen == 0);
    uint32_t at = LENGTH_PREFIX_BYTES;
    if (end < at + 3 || memcmp(frame, length_prefix, LENGTH_PREFIX_BYTES) != 0 || frame[at] == '0')
        return;
    uint64_t value = 0;
    uint32_t digits_end = end - 2 < at + LENGTH_DIGITS_MAX ? end - 2 : at + LENGTH_DIGITS_MAX;
    while (at < digits_end && frame_is_digit(frame[at]))
        value = value * 10 + (uint64_t)(frame[at++] - '0');
    if (value == 0 || value > limits->body_bytes_max || memcmp(frame + at, "\r\n", 2) != 0)
        return;
    at += 2;
    unit->body_bytes = (uint32_t)value;
    unit->length_line_bytes = unit->line_at = unit->at = at;
    unit->canonical = true;
    unit->seen = 1u << FIELD_LENGTH;
}

static void scan_block(struct unit *unit, const uint8_t *frame, uint32_t end,
                       const struct unit_limits *limits) {
    assert(end <= limits->header_bytes_max); // it may have come further, under another limit
    uint32_t at = unit->at;
    while (at < end && unit->state < IN_BODY) {
        switch ((enum state)unit->state) {
        case AT_LINE:
            at = scan_line_start(unit, frame, at);
            break;
        case IN_NAME:
            at = scan_name(unit, frame, at, end);
            break;
        case IN_VALUE:
            at = scan_value(unit, frame, at, end);
            break;
        case AT_LINE_FEED:
            at = scan_line_feed(unit, frame, at, limits);
            break;
        case AT_LAST_LINE_FEED:
            at = scan_last_line_feed(unit, frame, at);
            break;
        case IN_BODY:
        case REFUSED:
            break;
        }
    }
    unit->at = at;
}

enum unit_result frame_scan(struct unit *unit, const uint8_t *frame, size_t bytes,
                            const struct unit_limits *limits) {
    if (unit->state < IN_BODY) {
        uint32_t end = bytes < limits->header_bytes_max ? (uint32_t)bytes : limits->header_bytes_max;
        if (unit->at == 0)
            take_canonical_line(unit, frame, end, limits);
        scan_block(unit, frame, end, limits);
        if (unit->state < IN_BODY && unit->at >= limits->header_bytes_max)
            frame_refuse(unit, UNIT_FAULT_HEADER_TOO_LARGE, limits->header_bytes_max);
    }
    if (unit->state == REFUSED)
        return UNIT_BAD;
    if (!unit->sized)
        return UNIT_OPEN;
    return bytes < unit->bytes ? UNIT_PARTIAL : UNIT_WHOLE;
}

// The limit itself, so that a block of just that length is whole, and one byte more.
uint32_t frame_open_max(const struct unit_limits *limits) {
    return limits->header_bytes_max + 1;
}

size_t frame_length_line(char *out, uint64_t body_bytes) {
    assert(body_bytes <= UINT32_MAX);
    memcpy(out, length_prefix, LENGTH_PREFIX_BYTES);
    size_t count = LENGTH_PREFIX_BYTES + text_digits(out + LENGTH_PREFIX_BYTES, body_bytes);
    memcpy(out + count, "\r\n", 2);
    return count + 2;
}
