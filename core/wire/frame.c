// Finds the header block and the body's boundary in place.
//
// Success: each line is name, colon, value, CR LF. At the end of its line, a field is judged if it is one of the seven
// that the hub reads. A blank line ends the block, and the body's length is known. The usual block, a canonical
// Content-Length line alone, is read at once, without the steps.
//
// Failure comes at one of these places, and fault_at is its offset:
//
// - the first byte that isn't allowed in its place;
// - the end of a line whose field breaks a rule: the start of its value, or of the line for a field that may not occur
// twice;
// - the blank line, if no Content-Length came;
// - the limit, when header_bytes_max bytes have come without the end of the block.
#include "core/wire/frame.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#include "core/base/text.h"
#include "core/wire/field.h"

// The place of the next byte. Values below IN_BODY are places in the block; a new scan, all zeros, is at the block's
// start.
enum state { IN_BODY = FIELDS_STATES, REFUSED };

// The fields that the hub reads. Fields before FIELD_USER may occur once, and are also bits of unit.seen.
enum field {
    FIELD_LENGTH,
    FIELD_TYPE,
    FIELD_VERSION,
    FIELD_GOVERNANCE,
    FIELD_TIMEOUT,
    FIELD_IDLE,
    FIELD_USER,
    FIELD_OTHER
};

static const char length_prefix[] = "Content-Length: ";
enum { LENGTH_PREFIX_BYTES = sizeof length_prefix - 1 };

static const struct fields_wire frame_fields;

static void frame_refuse(struct unit *unit, enum unit_fault fault, uint32_t at) {
    fields_refuse(unit, &frame_fields, fault, at);
}

// Returns the field with this name. At most two names have the same length, so few are compared.
static enum field field_of(const uint8_t *name, uint32_t bytes) {
    switch (bytes) {
    case 12:
        return field_name_is(name, "content-type", 12) ? FIELD_TYPE : FIELD_OTHER;
    case 13:
        return field_name_is(name, "hugai-version", 13)   ? FIELD_VERSION
               : field_name_is(name, "patchbay-user", 13) ? FIELD_USER
                                                          : FIELD_OTHER;
    case 14:
        return field_name_is(name, "content-length", 14) ? FIELD_LENGTH : FIELD_OTHER;
    case 16:
        return field_name_is(name, "governance-level", 16) ? FIELD_GOVERNANCE : FIELD_OTHER;
    case 17:
        return field_name_is(name, "custom-timeout-ms", 17) ? FIELD_TIMEOUT : FIELD_OTHER;
    case 22:
        return field_name_is(name, "custom-idle-timeout-ms", 22) ? FIELD_IDLE : FIELD_OTHER;
    default:
        return FIELD_OTHER;
    }
}

static enum unit_fault check_length(struct unit *unit, struct field_text value,
                                    const struct unit_limits *limits) {
    uint64_t bytes;
    if (!directives_read_decimal(value, &bytes))
        return UNIT_FAULT_LENGTH;
    if (bytes == 0)
        return UNIT_FAULT_LENGTH_ZERO;
    if (bytes > limits->body_bytes_max)
        return UNIT_FAULT_BODY_TOO_LARGE;
    unit->body_bytes = (uint32_t)bytes;
    return UNIT_FAULT_NONE;
}

// Keeps where the Content-Length line lies, and whether the line may leave the hub unchanged. Its value must be good.
static void keep_length_line(struct unit *unit, const uint8_t *frame, struct field_text value,
                             uint32_t line_end) {
    assert(unit->line_at < line_end && frame[line_end - 1] == '\n');
    unit->length_line_at = unit->line_at;
    unit->length_line_bytes = line_end - unit->line_at;
    unit->canonical = unit->line_at == 0 && memcmp(frame, length_prefix, LENGTH_PREFIX_BYTES) == 0 &&
                      value.start == frame + LENGTH_PREFIX_BYTES && *value.start != '0' &&
                      value.end == frame + line_end - 2;
}

static enum unit_fault check_value(struct unit *unit, enum field field, struct field_text value,
                                   const struct unit_limits *limits) {
    switch (field) {
    case FIELD_LENGTH:
        return check_length(unit, value, limits);
    case FIELD_TYPE:
        return media_type_is_utf8(value.start, (size_t)(value.end - value.start)) ? UNIT_FAULT_NONE
                                                                                  : UNIT_FAULT_CHARSET;
    case FIELD_VERSION:
        directives_read_version(&unit->directives, value);
        break;
    case FIELD_GOVERNANCE:
        directives_read_governance(&unit->directives, value);
        break;
    case FIELD_TIMEOUT:
        directives_read_timeout(&unit->directives, value);
        break;
    case FIELD_IDLE:
        directives_read_idle(&unit->directives, value);
        break;
    case FIELD_USER:
    case FIELD_OTHER:
        break;
    }
    return UNIT_FAULT_NONE;
}

// Judges a line from line_at to line_end, with its CR LF. The line is whole and its syntax good.
static void check_line(struct unit *unit, const uint8_t *frame, uint32_t line_end,
                       const struct unit_limits *limits) {
    assert(unit->line_at < unit->colon_at && unit->colon_at + 2 < line_end);
    enum field field = field_of(frame + unit->line_at, unit->colon_at - unit->line_at);
    unit->names_user |= field == FIELD_USER;
    if (field >= FIELD_USER)
        return;
    if (unit->seen & 1u << field) {
        frame_refuse(unit, UNIT_FAULT_REPEATED, unit->line_at);
        return;
    }
    unit->seen |= (uint8_t)(1u << field);
    struct field_text value =
        field_text_trim((struct field_text){frame + unit->colon_at + 1, frame + line_end - 2});
    assert(value.start > frame + unit->colon_at && value.end < frame + line_end);
    enum unit_fault fault = check_value(unit, field, value, limits);
    if (fault != UNIT_FAULT_NONE)
        frame_refuse(unit, fault, (uint32_t)(value.start - frame));
    else if (field == FIELD_LENGTH)
        keep_length_line(unit, frame, value, line_end);
}

// Ends the block at `at`, where the body begins.
static void begin_body(struct unit *unit, uint32_t at) {
    assert(unit->body_bytes > 0 && unit->seen & 1u << FIELD_LENGTH);
    unit->state = IN_BODY;
    unit->length_known = true;
    unit->body_at = at;
    unit->bytes = at + unit->body_bytes;
}

static void end_block(struct unit *unit, const uint8_t *frame, uint32_t at) {
    (void)frame;
    if (unit->seen & 1u << FIELD_LENGTH)
        begin_body(unit, at);
    else
        frame_refuse(unit, UNIT_FAULT_LENGTH_MISSING, unit->line_at);
}

static const struct fields_wire frame_fields = {
    .first = FIELDS_AT_LINE, .refused = REFUSED, .check = check_line, .end = end_block};

// Returns the value of one to seven digits, the first digit in the lowest byte. Pairs of digits are added to bytes, and
// pairs of bytes to the value.
static inline uint64_t digits_value(uint64_t digits, unsigned count) {
    assert(count > 0 && count < 8);
    digits <<= 64 - 8 * count; // puts zeros before the digits
    digits = digits * 10 + (digits >> 8);
    uint64_t low = digits & UINT64_C(0x000000ff000000ff), high = digits >> 16 & UINT64_C(0x000000ff000000ff);
    return (low * UINT64_C(0x000f424000000064) + high * UINT64_C(0x0000271000000001)) >> 32;
}

enum { USUAL_BYTES = LENGTH_PREFIX_BYTES + 8 + 4 };

// Reads a canonical Content-Length line of up to seven digits at the start of a frame, a word at a time. Reads a blank
// line, too, if that follows. Changes nothing if there is no such line, or if the length is over the limit. At least
// USUAL_BYTES must have come.
static inline void take_canonical_line(struct unit *unit, const uint8_t *frame,
                                       const struct unit_limits *limits) {
    uint64_t word;
    assert(unit->at == 0 && unit->seen == 0);
    if (memcmp(frame, length_prefix, LENGTH_PREFIX_BYTES) != 0)
        return;
    memcpy(&word, frame + LENGTH_PREFIX_BYTES, sizeof word);
    uint64_t digits = le64toh(word) ^ UINT64_C(0x3030303030303030);
    uint64_t others = ((digits + UINT64_C(0x7676767676767676)) | digits) & UINT64_C(0x8080808080808080);
    if (others == 0 || (others & 0x80) != 0 || (digits & 0xff) == 0)
        return;
    unsigned count = (unsigned)__builtin_ctzll(others) / 8;
    uint64_t value = digits_value(digits, count);
    uint32_t at = LENGTH_PREFIX_BYTES + count + 2;
    if (value > limits->body_bytes_max || memcmp(frame + at - 2, "\r\n", 2) != 0)
        return;
    unit->body_bytes = (uint32_t)value;
    unit->length_line_bytes = unit->line_at = unit->at = at;
    unit->canonical = true;
    unit->seen = 1u << FIELD_LENGTH;
    if (memcmp(frame + at, "\r\n", 2) == 0)
        begin_body(unit, unit->at = at + 2);
}

// Scans any block. Not inlined, so that the usual block doesn't pay for this function's prologue.
static __attribute__((noinline)) enum unit_result scan_any(struct unit *unit, const uint8_t *frame,
                                                           size_t bytes, const struct unit_limits *limits) {
    if (unit->state < IN_BODY) {
        uint32_t end = bytes < limits->header_bytes_max ? (uint32_t)bytes : limits->header_bytes_max;
        fields_scan(unit, &frame_fields, frame, end, limits);
        if (unit->state < IN_BODY && unit->at >= limits->header_bytes_max)
            frame_refuse(unit, UNIT_FAULT_HEADER_TOO_LARGE, limits->header_bytes_max);
    }
    if (unit->state == REFUSED)
        return UNIT_BAD;
    if (!unit->length_known)
        return UNIT_OPEN;
    return bytes < unit->bytes ? UNIT_PARTIAL : UNIT_WHOLE;
}

enum unit_result frame_scan(struct unit *unit, const uint8_t *frame, size_t bytes,
                            const struct unit_limits *limits) {
    if (unit->at == 0 && bytes >= USUAL_BYTES && limits->header_bytes_max >= USUAL_BYTES)
        take_canonical_line(unit, frame, limits);
    if (__builtin_expect(unit->state != IN_BODY, false))
        return scan_any(unit, frame, bytes, limits);
    return bytes < unit->bytes ? UNIT_PARTIAL : UNIT_WHOLE;
}

// Returns one byte more than the limit, so that a block of just that length may be whole.
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
