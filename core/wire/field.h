// The syntax of a header field (RFC 9110 section 5, made strict), for all wires with header fields: a name of token
// characters, a colon, and a value without control characters. Inline, because each byte of a header block is judged
// here.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/json/json.h"
#include "core/wire/unit.h"

// A part of a header block: a field's name or value, or a part of these. Owns no memory.

struct field_text {
    const uint8_t *start;
    const uint8_t *end;
};

// Returns whether the byte is white space within a line (OWS, RFC 9110 section 5.6.3).
static inline bool field_text_is_blank(uint8_t byte) {
    return byte == ' ' || byte == '\t';
}

// Returns the text without the white space around it.
static inline struct field_text field_text_trim(struct field_text text) {
    assert(text.start <= text.end);
    while (text.start < text.end && field_text_is_blank(*text.start))
        text.start++;
    while (text.start < text.end && field_text_is_blank(text.end[-1]))
        text.end--;
    return text;
}

#ifdef __SSE2__
#include <emmintrin.h>
#endif

// Token characters (RFC 9110 section 5.6.2).
extern const bool field_token[256];

static inline bool field_is_digit(uint8_t byte) {
    return (uint8_t)(byte - '0') < 10;
}

// Returns whether the byte is printable, a tab, or at least 0x80 (RFC 9110 section 5.5, obs-text).
static inline bool field_may_be_in_value(uint8_t byte) {
    return (byte >= 0x20 && byte != 0x7f) || byte == '\t';
}

#ifdef __SSE2__
enum { FIELD_STEP_BYTES = 16 };

static inline __m128i field_at_most(__m128i bytes, char limit) {
    return _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(limit)), bytes);
}

// Returns one bit for each of 16 bytes: set if the byte is neither letter, digit nor hyphen. Nearly all names have no
// other characters.
static inline unsigned field_unusual_in_name(const uint8_t *bytes) {
    __m128i text = _mm_loadu_si128((const __m128i *)bytes);
    __m128i lower = _mm_or_si128(text, _mm_set1_epi8(0x20));
    __m128i letters = field_at_most(_mm_sub_epi8(lower, _mm_set1_epi8('a')), 25);
    __m128i digits = field_at_most(_mm_sub_epi8(text, _mm_set1_epi8('0')), 9);
    __m128i hyphens = _mm_cmpeq_epi8(text, _mm_set1_epi8('-'));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(letters, digits), hyphens)) ^ 0xffffu;
}

// Returns one bit for each of 16 bytes: set if field_may_be_in_value is false.
static inline unsigned field_not_in_value(const uint8_t *bytes) {
    __m128i text = _mm_loadu_si128((const __m128i *)bytes);
    __m128i tabs = _mm_cmpeq_epi8(text, _mm_set1_epi8('\t'));
    __m128i deletes = _mm_cmpeq_epi8(text, _mm_set1_epi8(0x7f));
    __m128i controls = _mm_andnot_si128(tabs, field_at_most(text, 0x1f));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(controls, deletes));
}

// Returns the place of the first set bit among the last `left` (fewer than 16) of 16 bits; `left` if there is none.
// `stops` has one bit for each of 16 judged bytes. So the end of a block is judged in one step together with earlier
// bytes, and no byte behind the block is read.
static inline uint32_t field_first_stop(unsigned stops, uint32_t left) {
    assert(left > 0 && left < FIELD_STEP_BYTES);
    stops >>= FIELD_STEP_BYTES - left;
    return stops ? (uint32_t)__builtin_ctz(stops) : left;
}
#endif

// Returns the offset of the first byte from `at` on that is no token character; `end` if there is none.
static inline uint32_t field_skip_name(const uint8_t *bytes, uint32_t at, uint32_t end) {
#ifdef __SSE2__
    for (; end - at >= FIELD_STEP_BYTES; at += FIELD_STEP_BYTES) {
        unsigned stops = field_unusual_in_name(bytes + at);
        if (stops) {
            at += (uint32_t)__builtin_ctz(stops);
            break;
        }
    }
    if (at < end && end - at < FIELD_STEP_BYTES && end >= FIELD_STEP_BYTES)
        at += field_first_stop(field_unusual_in_name(bytes + end - FIELD_STEP_BYTES), end - at);
#endif
    while (at < end && field_token[bytes[at]])
        at++;
    return at;
}

// Returns the offset of the first byte from `at` on that a value may not have; `end` if there is none.
static inline uint32_t field_skip_value(const uint8_t *bytes, uint32_t at, uint32_t end) {
#ifdef __SSE2__
    for (; end - at >= FIELD_STEP_BYTES; at += FIELD_STEP_BYTES) {
        unsigned stops = field_not_in_value(bytes + at);
        if (stops)
            return at + (uint32_t)__builtin_ctz(stops);
    }
    if (at < end && end >= FIELD_STEP_BYTES)
        return at + field_first_stop(field_not_in_value(bytes + end - FIELD_STEP_BYTES), end - at);
#endif
    while (at < end && field_may_be_in_value(bytes[at]))
        at++;
    return at;
}

// Returns eight bytes, each with the bit set that distinguishes lower case from upper case.
static inline uint64_t field_lower_8(const void *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word | UINT64_C(0x2020202020202020);
}

// Returns whether the 8 to 24 bytes of a name equal `lower`, ignoring case. The bytes of a name are token characters:
// setting the bit turns only upper-case letters into lower-case letters, and no other token character into a hyphen.
// Three words that overlap cover all bytes.
static inline bool field_name_is(const uint8_t *name, const char *lower, size_t bytes) {
    size_t middle = (bytes - 8) / 2, last = bytes - 8;
    uint64_t differ = field_lower_8(name) ^ field_lower_8(lower);
    differ |= field_lower_8(name + middle) ^ field_lower_8(lower + middle);
    return (differ | (field_lower_8(name + last) ^ field_lower_8(lower + last))) == 0;
}

static inline uint8_t field_lower(uint8_t byte) {
    return byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte;
}

// Returns whether the `count` bytes equal `lower`, ignoring case.
static inline bool field_is(const uint8_t *bytes, size_t count, const char *lower, size_t lower_bytes) {
    if (count != lower_bytes)
        return false;
    for (size_t at = 0; at < count; at++)
        if (field_lower(bytes[at]) != (uint8_t)lower[at])
            return false;
    return true;
}

// --- Lines

// Reads the lines of a header block that a scanner has judged, one after the other.

// A line of a block. All spans are of the bytes in which the block lies.
struct field_line {
    struct span line; // the whole line, with its CR LF
    struct span name;
    struct span value; // without the white space around it
};

// Reads the line at *at, and moves *at behind the line. Returns false at the blank line.
static inline bool field_line_next(const uint8_t *bytes, uint32_t *at, uint32_t end, struct field_line *out) {
    uint32_t from = *at;
    assert(from + 2 <= end);
    if (bytes[from] == '\r')
        return false;
    uint32_t colon = field_skip_name(bytes, from, end), stop = field_skip_value(bytes, colon + 1, end);
    assert(bytes[colon] == ':' && stop + 2 < end && bytes[stop] == '\r');
    struct field_text value = field_text_trim((struct field_text){bytes + colon + 1, bytes + stop});
    out->line = (struct span){from, stop + 2 - from};
    out->name = (struct span){from, colon - from};
    out->value = (struct span){(uint32_t)(value.start - bytes), (uint32_t)(value.end - value.start)};
    *at = stop + 2;
    return true;
}

// --- Blocks as they come in

// Scans the lines of an incoming header block, for all wires with header fields. Each byte is judged once, a field when
// its line is whole, and the block at its blank line. Inline, so that the compiler sees each wire's own functions.

// The states of the scan, by the place of the next byte. unit.state is such a state plus fields_wire.first.
enum { FIELDS_AT_LINE, FIELDS_IN_NAME, FIELDS_IN_VALUE, FIELDS_AT_FEED, FIELDS_AT_LAST_FEED, FIELDS_STATES };

struct fields_wire {
    uint8_t first;   // unit.state of FIELDS_AT_LINE
    uint8_t refused; // unit.state after a fault
    // Judges a line from unit->line_at to line_end, with its CR LF. The line is whole and its syntax good.
    void (*check)(struct unit *unit, const uint8_t *bytes, uint32_t line_end,
                  const struct unit_limits *limits);
    // Ends the block at `at`, behind its blank line, which begins at unit->line_at.
    void (*end)(struct unit *unit, const uint8_t *bytes, uint32_t at);
};

static inline void fields_refuse(struct unit *unit, const struct fields_wire *wire, enum unit_fault fault,
                                 uint32_t at) {
    assert(fault > UNIT_FAULT_NONE && fault < UNIT_FAULTS_COUNT && !unit->length_known);
    unit->state = wire->refused;
    unit->fault = fault;
    unit->fault_at = at;
}

// The steps: each takes the offset of the next byte, at least one byte before `end`, and returns the offset that the
// step reached. (The offset stays in a register: in *unit it costs twice the time.)

static inline void fields_go_to(struct unit *unit, const struct fields_wire *wire, unsigned state) {
    unit->state = (uint8_t)(wire->first + state);
}

static inline uint32_t fields_line(struct unit *unit, const struct fields_wire *wire, const uint8_t *bytes,
                                   uint32_t at) {
    if (bytes[at] == '\r') {
        fields_go_to(unit, wire, FIELDS_AT_LAST_FEED);
        return at + 1;
    }
    if (field_token[bytes[at]])
        fields_go_to(unit, wire, FIELDS_IN_NAME);
    else
        fields_refuse(unit, wire, bytes[at] == '\n' ? UNIT_FAULT_LINE_END : UNIT_FAULT_NAME, at);
    return at;
}

static inline uint32_t fields_name(struct unit *unit, const struct fields_wire *wire, const uint8_t *bytes,
                                   uint32_t at, uint32_t end) {
    at = field_skip_name(bytes, at, end);
    if (at == end)
        return at;
    if (bytes[at] != ':') {
        fields_refuse(unit, wire, UNIT_FAULT_NAME, at);
        return at;
    }
    unit->colon_at = at;
    fields_go_to(unit, wire, FIELDS_IN_VALUE);
    return at + 1;
}

static inline uint32_t fields_value(struct unit *unit, const struct fields_wire *wire, const uint8_t *bytes,
                                    uint32_t at, uint32_t end) {
    at = field_skip_value(bytes, at, end);
    if (at == end)
        return at;
    if (bytes[at] != '\r') {
        fields_refuse(unit, wire, bytes[at] == '\n' ? UNIT_FAULT_LINE_END : UNIT_FAULT_VALUE, at);
        return at;
    }
    fields_go_to(unit, wire, FIELDS_AT_FEED);
    return at + 1;
}

static inline uint32_t fields_feed(struct unit *unit, const struct fields_wire *wire, const uint8_t *bytes,
                                   uint32_t at, const struct unit_limits *limits) {
    bool last = unit->state == wire->first + FIELDS_AT_LAST_FEED;
    if (bytes[at] != '\n') {
        fields_refuse(unit, wire, UNIT_FAULT_LINE_END, at);
        return at;
    }
    if (last) {
        wire->end(unit, bytes, at + 1);
        return at + 1;
    }
    fields_go_to(unit, wire, FIELDS_AT_LINE);
    wire->check(unit, bytes, at + 1, limits);
    unit->line_at = at + 1;
    return at + 1;
}

// Scans up to `end`, to the block's end or to a fault.
static inline void fields_scan(struct unit *unit, const struct fields_wire *wire, const uint8_t *bytes,
                               uint32_t end, const struct unit_limits *limits) {
    uint32_t at = unit->at;
    while (at < end && unit->state - wire->first < FIELDS_STATES) {
        switch (unit->state - wire->first) {
        case FIELDS_AT_LINE:
            at = fields_line(unit, wire, bytes, at);
            break;
        case FIELDS_IN_NAME:
            at = fields_name(unit, wire, bytes, at, end);
            break;
        case FIELDS_IN_VALUE:
            at = fields_value(unit, wire, bytes, at, end);
            break;
        default:
            at = fields_feed(unit, wire, bytes, at, limits);
            break;
        }
    }
    unit->at = at;
}

// --- Directives

// Reads the fields that say how a body must be treated (HugAI v2 headers), alike on every wire with header fields. A
// value that can't be read is marked as bad, and is no fault of the envelope. Inline, since most blocks have such
// fields.

enum { DECIMAL_DIGITS_MAX = 10, TIMEOUT_MS_MAX = 3600 * 1000 };

// Reads 1 to 10 digits and nothing else; ten digits always fit 64 bits. Returns false for any other text.
static inline bool directives_read_decimal(struct field_text text, uint64_t *value) {
    assert(text.start <= text.end);
    if (text.start == text.end || text.end - text.start > DECIMAL_DIGITS_MAX)
        return false;
    *value = 0;
    for (; text.start < text.end; text.start++) {
        if (!field_is_digit(*text.start))
            return false;
        *value = *value * 10 + (*text.start - '0');
    }
    return true;
}

// Reads a value of HugAI-Version, without the white space around it.
static inline void directives_read_version(struct directives *directives, struct field_text value) {
    bool major_2 = value.start < value.end && value.start[0] == '2' &&
                   (value.end - value.start == 1 || value.start[1] == '.');
    directives->version = major_2 ? VERSION_SERVED : VERSION_OTHER;
}

static inline void directives_read_governance(struct directives *directives, struct field_text value) {
    assert(value.start <= value.end);
    enum governance level = governance_parse((const char *)value.start, (size_t)(value.end - value.start));
    directives->has_governance = true;
    directives->governance_bad = level == GOVERNANCE_COUNT;
    if (!directives->governance_bad)
        directives->governance = level;
}

// Reads a time in ms. Returns false if the value is no time that a request may have.
static inline bool directives_read_time(struct field_text value, uint32_t *out) {
    uint64_t ms;
    if (!directives_read_decimal(value, &ms) || ms == 0 || ms > TIMEOUT_MS_MAX)
        return false;
    *out = (uint32_t)ms;
    return true;
}

static inline void directives_read_timeout(struct directives *directives, struct field_text value) {
    directives->has_timeout = true;
    directives->timeout_bad = !directives_read_time(value, &directives->timeout_ms);
}

static inline void directives_read_idle(struct directives *directives, struct field_text value) {
    directives->has_idle = true;
    directives->idle_bad = !directives_read_time(value, &directives->idle_ms);
}

// --- Media types

// Checks that a Content-Type allows nothing but UTF-8 (RFC 9110 sections 8.3.1 and 5.6.6).

// Returns whether the media type in a field value may be UTF-8. The value must have no white space around it and no
// control characters but tab. True for any media type, even a malformed one. False if a quoted string never ends. False
// if a parameter `charset` (there may be several) is other than utf-8 or utf8, in any case, quoted or not.
bool media_type_is_utf8(const uint8_t *value, size_t bytes);
