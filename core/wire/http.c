#include "core/wire/http.h"

#include <assert.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/wire/field.h"
#include "core/wire/http_request.h"
#include "core/wire/unit.h"

// --- The head of a request, until the body
//
// Success: the request line is judged when it is whole, each field at the end of its line, and the head at the blank
// line.
//
// Failure comes at one of these places, and fault_at is its offset:
//
// - the first byte that isn't allowed in its place;
// - the end of a line that breaks a rule: of a field the start of its value, or of the line for a field that may not
// occur twice;
// - the blank line, if no Host came;
// - a limit.

// The place of the next byte. A new scan is all zeros.
enum state {
    AT_START,
    AT_EMPTY_FEED,
    AT_REQUEST,
    IN_REQUEST,
    AT_REQUEST_FEED,
    AT_LINE, // from here on, FIELDS_AT_LINE and the states behind it
    HEAD_STATES_COUNT = AT_LINE + FIELDS_STATES
};
static_assert((int)HEAD_STATES_COUNT <= (int)HTTP_CHUNKS,
              "the states of a head are below those of the chunks");

// The fields that may occur once, and that decide where the request ends or how it is treated. FIELD_LENGTH to
// FIELD_TIMEOUT are also bits of unit.seen; FIELD_IDLE has no bit left.
enum field {
    FIELD_LENGTH,
    FIELD_CODING,
    FIELD_HOST,
    FIELD_EXPECT,
    FIELD_TYPE,
    FIELD_VERSION,
    FIELD_GOVERNANCE,
    FIELD_TIMEOUT,
    FIELD_IDLE,
    FIELD_OTHER
};

static const struct fields_wire http_fields;

static void http_refuse(struct unit *unit, enum unit_fault fault, uint32_t at) {
    fields_refuse(unit, &http_fields, fault, at);
}

static bool has_seen(const struct unit *unit, enum field field) {
    assert(field < FIELD_OTHER);
    return field == FIELD_IDLE ? unit->directives.has_idle : unit->seen & 1u << field;
}

// --- Fields

static enum field http_field_of(const uint8_t *name, uint32_t bytes) {
    switch (bytes) {
    case 4:
        return field_is(name, bytes, "host", 4) ? FIELD_HOST : FIELD_OTHER;
    case 6:
        return field_is(name, bytes, "expect", 6) ? FIELD_EXPECT : FIELD_OTHER;
    case 12:
        return field_name_is(name, "content-type", 12) ? FIELD_TYPE : FIELD_OTHER;
    case 13:
        return field_name_is(name, "hugai-version", 13) ? FIELD_VERSION : FIELD_OTHER;
    case 14:
        return field_name_is(name, "content-length", 14) ? FIELD_LENGTH : FIELD_OTHER;
    case 16:
        return field_name_is(name, "governance-level", 16) ? FIELD_GOVERNANCE : FIELD_OTHER;
    case 17:
        return field_name_is(name, "transfer-encoding", 17)   ? FIELD_CODING
               : field_name_is(name, "custom-timeout-ms", 17) ? FIELD_TIMEOUT
                                                              : FIELD_OTHER;
    case 22:
        return field_name_is(name, "custom-idle-timeout-ms", 22) ? FIELD_IDLE : FIELD_OTHER;
    default:
        return FIELD_OTHER;
    }
}

// Returns whether the request is of HTTP/1.0. While the head comes in, length_line_at is where its fields begin, right
// behind the request line.
static bool is_1_0(const struct unit *unit, const uint8_t *bytes) {
    assert(unit->length_line_at > sizeof "HTTP/1.0\r\n");
    return bytes[unit->length_line_at - 3] == '0';
}

// Reads a Content-Length: any number of digits, with or without leading zeros.
static enum unit_fault check_length(struct unit *unit, struct field_text value,
                                    const struct unit_limits *limits) {
    uint64_t bytes = 0;
    if (has_seen(unit, FIELD_CODING))
        return UNIT_FAULT_CODING;
    if (value.start == value.end)
        return UNIT_FAULT_LENGTH;
    for (; value.start < value.end; value.start++) {
        if (!field_is_digit(*value.start))
            return UNIT_FAULT_LENGTH;
        if (bytes <= UINT32_MAX)
            bytes = bytes * 10 + (uint64_t)(*value.start - '0');
    }
    if (bytes > limits->body_bytes_max)
        return UNIT_FAULT_BODY_TOO_LARGE;
    unit->body_bytes = (uint32_t)bytes;
    return UNIT_FAULT_NONE;
}

static bool value_is(struct field_text value, const char *lower) {
    return field_is(value.start, (size_t)(value.end - value.start), lower, strlen(lower));
}

static enum unit_fault check_coding(const struct unit *unit, const uint8_t *bytes, struct field_text value) {
    bool good = !has_seen(unit, FIELD_LENGTH) && !is_1_0(unit, bytes) && value_is(value, "chunked");
    return good ? UNIT_FAULT_NONE : UNIT_FAULT_CODING;
}

static enum unit_fault check_host(const uint8_t *bytes, struct field_text value) {
    struct http_authority authority;
    struct span text = {(uint32_t)(value.start - bytes), (uint32_t)(value.end - value.start)};
    return http_authority_read(bytes, text, &authority) ? UNIT_FAULT_NONE : UNIT_FAULT_HOST;
}

static enum unit_fault check_value(struct unit *unit, const uint8_t *bytes, enum field field,
                                   struct field_text value, const struct unit_limits *limits) {
    switch (field) {
    case FIELD_LENGTH:
        return check_length(unit, value, limits);
    case FIELD_CODING:
        return check_coding(unit, bytes, value);
    case FIELD_HOST:
        return check_host(bytes, value);
    case FIELD_EXPECT:
        return value_is(value, "100-continue") ? UNIT_FAULT_NONE : UNIT_FAULT_EXPECT;
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
    case FIELD_TYPE:
    case FIELD_OTHER:
        break;
    }
    return UNIT_FAULT_NONE;
}

// Judges a line from line_at to line_end, with its CR LF. The line is whole and its syntax good.
static void check_line(struct unit *unit, const uint8_t *bytes, uint32_t line_end,
                       const struct unit_limits *limits) {
    assert(unit->line_at < unit->colon_at && unit->colon_at + 2 < line_end);
    enum field field = http_field_of(bytes + unit->line_at, unit->colon_at - unit->line_at);
    if (field == FIELD_OTHER)
        return;
    if (has_seen(unit, field)) {
        http_refuse(unit, UNIT_FAULT_REPEATED, unit->line_at);
        return;
    }
    struct field_text value =
        field_text_trim((struct field_text){bytes + unit->colon_at + 1, bytes + line_end - 2});
    enum unit_fault fault = check_value(unit, bytes, field, value, limits);
    if (field != FIELD_IDLE)
        unit->seen |= (uint8_t)(1u << field);
    if (fault != UNIT_FAULT_NONE)
        http_refuse(unit, fault, (uint32_t)(value.start - bytes));
}

// --- The head as a whole

// Returns where the request line begins: one empty line may precede it.
static uint32_t request_at(const uint8_t *bytes) {
    return bytes[0] == '\r' ? 2 : 0;
}

// Returns whether Host equals the target's authority, if the target is a URI with an authority.
static bool hosts_agree(const struct unit *unit, const uint8_t *bytes, uint32_t end) {
    uint32_t at = request_at(bytes), fault_at;
    struct http_line request;
    if (bytes[field_skip_name(bytes, at, end) + 1] == '/')
        return true;
    enum unit_fault fault = http_line_read(bytes, at, unit->length_line_at - 2, &request, &fault_at);
    assert(fault == UNIT_FAULT_NONE);
    if (fault != UNIT_FAULT_NONE || request.authority.bytes == 0)
        return fault == UNIT_FAULT_NONE;
    at = unit->length_line_at;
    for (struct field_line field; field_line_next(bytes, &at, end, &field);) {
        if (http_field_of(bytes + field.name.at, field.name.bytes) != FIELD_HOST)
            continue;
        if (field.value.bytes != request.authority.bytes)
            return false;
        for (uint32_t i = 0; i < field.value.bytes; i++)
            if (field_lower(bytes[field.value.at + i]) != field_lower(bytes[request.authority.at + i]))
                return false;
    }
    return true;
}

// Ends the head at `at`, behind its blank line.
static void end_head(struct unit *unit, const uint8_t *bytes, uint32_t at) {
    if (!has_seen(unit, FIELD_HOST) || !hosts_agree(unit, bytes, at)) {
        http_refuse(unit, UNIT_FAULT_HOST, unit->line_at);
        return;
    }
    if (is_1_0(unit, bytes)) // HTTP/1.0 has no Expect
        unit->seen &= (uint8_t) ~(1u << FIELD_EXPECT);
    unit->length_line_at = 0;
    unit->counts_without_body = true;
    if (has_seen(unit, FIELD_CODING)) {
        http_chunks_begin(unit, at);
        return;
    }
    unit->state = HTTP_SIZED;
    unit->length_known = true;
    unit->body_at = at;
    unit->bytes = at + unit->body_bytes;
}

// --- The steps of the scan. Each takes the offset of the next byte, at least one byte before `end`, and returns the
// offset that the step reached.

// Takes one byte, which must be `wanted`.
static uint32_t take(struct unit *unit, const uint8_t *bytes, uint32_t at, uint8_t wanted, enum state next) {
    if (bytes[at] != wanted) {
        http_refuse(unit, UNIT_FAULT_LINE_END, at);
        return at;
    }
    unit->state = (uint8_t)next;
    return at + 1;
}

static uint32_t scan_start(struct unit *unit, const uint8_t *bytes, uint32_t at) {
    if (unit->state == AT_START && bytes[at] == '\r')
        return take(unit, bytes, at, '\r', AT_EMPTY_FEED);
    unit->line_at = at;
    unit->state = IN_REQUEST;
    if (!field_token[bytes[at]])
        http_refuse(unit, UNIT_FAULT_REQUEST_LINE, at);
    return at;
}

static uint32_t scan_request(struct unit *unit, const uint8_t *bytes, uint32_t at, uint32_t end) {
    uint32_t line_end = unit->line_at + HTTP_LINE_BYTES_MAX;
    at = field_skip_value(bytes, at, end < line_end ? end : line_end);
    if (at == end)
        return at;
    if (bytes[at] == '\r')
        return take(unit, bytes, at, '\r', AT_REQUEST_FEED);
    http_refuse(unit,
                at == line_end      ? UNIT_FAULT_REQUEST_LINE_TOO_LONG
                : bytes[at] == '\n' ? UNIT_FAULT_LINE_END
                                    : UNIT_FAULT_REQUEST_LINE,
                at);
    return at;
}

static uint32_t scan_request_feed(struct unit *unit, const uint8_t *bytes, uint32_t at) {
    struct http_line request;
    uint32_t fault_at, next = take(unit, bytes, at, '\n', AT_LINE);
    if (next == at)
        return at;
    enum unit_fault fault = http_line_read(bytes, unit->line_at, at - 1, &request, &fault_at);
    if (fault != UNIT_FAULT_NONE)
        http_refuse(unit, fault, fault_at);
    unit->line_at = unit->length_line_at = next;
    return next;
}

static void scan_request_line(struct unit *unit, const uint8_t *bytes, uint32_t end) {
    uint32_t at = unit->at;
    while (at < end && unit->state < AT_LINE) {
        switch ((enum state)unit->state) {
        case AT_EMPTY_FEED:
            at = take(unit, bytes, at, '\n', AT_REQUEST);
            break;
        case IN_REQUEST:
            at = scan_request(unit, bytes, at, end);
            break;
        case AT_REQUEST_FEED:
            at = scan_request_feed(unit, bytes, at);
            break;
        default:
            at = scan_start(unit, bytes, at);
            break;
        }
    }
    unit->at = at;
}

static const struct fields_wire http_fields = {
    .first = AT_LINE, .refused = HTTP_REFUSED, .check = check_line, .end = end_head};

static void scan_fields(struct unit *unit, const uint8_t *bytes, uint32_t end,
                        const struct unit_limits *limits) {
    uint32_t max = unit->length_line_at + limits->header_bytes_max;
    assert(unit->length_line_at > 0 && unit->at >= unit->length_line_at);
    fields_scan(unit, &http_fields, bytes, end < max ? end : max, limits);
    if (unit->state < HEAD_STATES_COUNT && unit->at >= max)
        http_refuse(unit, UNIT_FAULT_HEADER_TOO_LARGE, max);
}

// Scans on in the head. When the head is whole, body_at is set and the state is IN_SIZE of a chunked body, or
// HTTP_SIZED. At a fault the state is HTTP_REFUSED.
static void http_head_scan(struct unit *unit, const uint8_t *bytes, uint32_t end,
                           const struct unit_limits *limits) {
    if (unit->state < AT_LINE)
        scan_request_line(unit, bytes, end);
    if (unit->state >= AT_LINE && unit->state < HEAD_STATES_COUNT)
        scan_fields(unit, bytes, end, limits);
}

// Returns whether the sender of a whole head waits for leave to send the body.
static bool http_head_waits(const struct unit *unit) {
    return has_seen(unit, FIELD_EXPECT) && (unit->body_bytes > 0 || has_seen(unit, FIELD_CODING));
}

enum unit_result http_scan(struct unit *unit, uint8_t *bytes, size_t count,
                           const struct unit_limits *limits) {
    uint32_t end = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
    bool in_head = unit->state < HTTP_CHUNKS;
    if (in_head)
        http_head_scan(unit, bytes, end, limits);
    if (unit->state >= HTTP_CHUNKS && unit->state < HTTP_SIZED)
        http_chunks_scan(unit, bytes, end, limits);
    if (unit->state == HTTP_REFUSED)
        return UNIT_BAD;
    if (in_head && unit->body_at == count && http_head_waits(unit))
        return UNIT_CONTROL;
    if (!unit->length_known)
        return UNIT_OPEN;
    return count < unit->bytes ? UNIT_PARTIAL : UNIT_WHOLE;
}

// Counts an empty line, the request line, the fields and the body, and one arrival behind these that may be dead.
uint32_t http_open_max(const struct unit_limits *limits) {
    uint32_t besides = 2 + HTTP_LINE_BYTES_MAX + 2 + limits->header_bytes_max + RECEIVE_BUFFER_BYTES;
    assert(limits->body_bytes_max <= UINT32_MAX - besides);
    return besides + limits->body_bytes_max;
}

unsigned http_status_of(enum unit_fault fault) {
    assert(fault > UNIT_FAULT_NONE && fault < UNIT_FAULTS_COUNT);
    switch (fault) {
    case UNIT_FAULT_LATE:
        return 408;
    case UNIT_FAULT_BODY_TOO_LARGE:
        return 413;
    case UNIT_FAULT_REQUEST_LINE_TOO_LONG:
        return 414;
    case UNIT_FAULT_EXPECT:
        return 417;
    case UNIT_FAULT_HEADER_TOO_LARGE:
        return 431;
    case UNIT_FAULT_HTTP_VERSION:
        return 505;
    default:
        return 400;
    }
}

// --- Chunked bodies

// The chunks' data is moved down to the body's end as it comes. line_at counts the bytes that the chunk still lacks,
// and colon_at the bytes of its first line, or of the trailer. Both are counts, not offsets, so that dead bytes behind
// the body may be removed at any time.

enum chunk_state {
    IN_SIZE = HTTP_CHUNKS,
    IN_EXTENSION,
    AT_SIZE_FEED,
    IN_DATA,
    AT_DATA_END,
    AT_DATA_FEED,
    AT_TRAILER_LINE,
    IN_TRAILER_NAME,
    IN_TRAILER_VALUE,
    AT_TRAILER_FEED,
    AT_LAST_FEED,
};

static void chunks_refuse(struct unit *unit, enum unit_fault fault) {
    assert(fault > UNIT_FAULT_NONE && fault < UNIT_FAULTS_COUNT && !unit->length_known);
    unit->state = HTTP_REFUSED;
    unit->fault = fault;
    unit->fault_at = unit->body_at + unit->body_bytes;
}

void http_chunks_begin(struct unit *unit, uint32_t at) {
    assert(unit->body_bytes == 0 && !unit->length_known);
    unit->state = IN_SIZE;
    unit->body_at = at;
    unit->line_at = unit->colon_at = 0;
}

static int hex_value(uint8_t byte) {
    uint8_t lower = field_lower(byte);
    return field_is_digit(byte) ? byte - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Reads a byte of a chunk's size. Refuses the chunk as soon as the sum of the chunks is over the limit, before any data
// of the chunk is taken.
static void scan_size(struct unit *unit, uint8_t byte, const struct unit_limits *limits) {
    int digit = hex_value(byte);
    bool begun = unit->colon_at++ > 0;
    if (unit->colon_at > HTTP_CHUNK_LINE_BYTES_MAX) {
        chunks_refuse(unit, UNIT_FAULT_CHUNK);
    } else if (digit >= 0) {
        uint64_t size = (uint64_t)unit->line_at * 16 + (uint64_t)digit;
        if (unit->body_bytes + size > limits->body_bytes_max)
            chunks_refuse(unit, UNIT_FAULT_BODY_TOO_LARGE);
        else
            unit->line_at = (uint32_t)size;
    } else if (begun && (byte == ';' || byte == '\r')) {
        unit->state = byte == ';' ? IN_EXTENSION : AT_SIZE_FEED;
    } else {
        chunks_refuse(unit, UNIT_FAULT_CHUNK);
    }
}

static uint32_t scan_extension(struct unit *unit, const uint8_t *bytes, uint32_t at, uint32_t end) {
    uint32_t stop = field_skip_value(bytes, at, end);
    unit->colon_at += stop - at;
    if (unit->colon_at > HTTP_CHUNK_LINE_BYTES_MAX)
        chunks_refuse(unit, UNIT_FAULT_CHUNK);
    else if (stop < end && bytes[stop] == '\r')
        unit->state = AT_SIZE_FEED;
    else if (stop < end)
        chunks_refuse(unit, bytes[stop] == '\n' ? UNIT_FAULT_LINE_END : UNIT_FAULT_CHUNK);
    return stop < end ? stop + 1 : stop;
}

static uint32_t take_data(struct unit *unit, uint8_t *bytes, uint32_t at, uint32_t end) {
    uint32_t to = unit->body_at + unit->body_bytes;
    uint32_t count = end - at < unit->line_at ? end - at : unit->line_at;
    assert(to <= at && count > 0);
    if (to != at)
        memmove(bytes + to, bytes + at, count);
    unit->body_bytes += count;
    unit->line_at -= count;
    if (unit->line_at == 0)
        unit->state = AT_DATA_END;
    return at + count;
}

// Judges one byte, which must be `wanted`.
static void expect(struct unit *unit, uint8_t byte, uint8_t wanted, unsigned next, enum unit_fault fault) {
    if (byte != wanted) {
        chunks_refuse(unit, fault);
        return;
    }
    unit->state = (uint8_t)next;
}

static void end_size_line(struct unit *unit, uint8_t byte) {
    expect(unit, byte, '\n', unit->line_at ? IN_DATA : AT_TRAILER_LINE, UNIT_FAULT_LINE_END);
    unit->colon_at = 0;
}

static void end_body(struct unit *unit, uint8_t byte, uint32_t at) {
    expect(unit, byte, '\n', HTTP_SIZED, UNIT_FAULT_LINE_END);
    if (unit->state != HTTP_SIZED)
        return;
    unit->length_known = true;
    unit->bytes = at + 1;
}

static uint32_t scan_chunk(struct unit *unit, uint8_t *bytes, uint32_t at, uint32_t end,
                           const struct unit_limits *limits) {
    switch ((enum chunk_state)unit->state) {
    case IN_SIZE:
        scan_size(unit, bytes[at], limits);
        return at + 1;
    case IN_EXTENSION:
        return scan_extension(unit, bytes, at, end);
    case AT_SIZE_FEED:
        end_size_line(unit, bytes[at]);
        return at + 1;
    case IN_DATA:
        return take_data(unit, bytes, at, end);
    case AT_DATA_END:
        expect(unit, bytes[at], '\r', AT_DATA_FEED, UNIT_FAULT_CHUNK);
        return at + 1;
    default:
        expect(unit, bytes[at], '\n', IN_SIZE, UNIT_FAULT_CHUNK);
        return at + 1;
    }
}

static uint32_t scan_trailer_name(struct unit *unit, const uint8_t *bytes, uint32_t at, uint32_t end) {
    at = field_skip_name(bytes, at, end);
    if (at == end)
        return at;
    expect(unit, bytes[at], ':', IN_TRAILER_VALUE, UNIT_FAULT_NAME);
    return at + 1;
}

static uint32_t scan_trailer_value(struct unit *unit, const uint8_t *bytes, uint32_t at, uint32_t end) {
    at = field_skip_value(bytes, at, end);
    if (at == end)
        return at;
    expect(unit, bytes[at], '\r', AT_TRAILER_FEED,
           bytes[at] == '\n' ? UNIT_FAULT_LINE_END : UNIT_FAULT_VALUE);
    return at + 1;
}

static uint32_t scan_trailer(struct unit *unit, const uint8_t *bytes, uint32_t at, uint32_t end) {
    switch ((enum chunk_state)unit->state) {
    case AT_TRAILER_LINE:
        if (bytes[at] == '\r') {
            unit->state = AT_LAST_FEED;
            return at + 1;
        }
        unit->state = IN_TRAILER_NAME;
        if (!field_token[bytes[at]])
            chunks_refuse(unit, bytes[at] == '\n' ? UNIT_FAULT_LINE_END : UNIT_FAULT_NAME);
        return at;
    case IN_TRAILER_NAME:
        return scan_trailer_name(unit, bytes, at, end);
    case IN_TRAILER_VALUE:
        return scan_trailer_value(unit, bytes, at, end);
    case AT_TRAILER_FEED:
        expect(unit, bytes[at], '\n', AT_TRAILER_LINE, UNIT_FAULT_LINE_END);
        return at + 1;
    default:
        end_body(unit, bytes[at], at);
        return at + 1;
    }
}

// Scans the trailer, which may have as many bytes as a header block.
static uint32_t scan_trailers(struct unit *unit, const uint8_t *bytes, uint32_t at, uint32_t end,
                              const struct unit_limits *limits) {
    uint32_t from = at, max = limits->header_bytes_max;
    uint32_t left = unit->colon_at < max ? max - unit->colon_at : 0;
    end = end - at < left ? end : at + left;
    while (at < end && unit->state >= AT_TRAILER_LINE && unit->state <= AT_LAST_FEED)
        at = scan_trailer(unit, bytes, at, end);
    unit->colon_at += at - from;
    if (unit->state <= AT_LAST_FEED && unit->colon_at >= max)
        chunks_refuse(unit, UNIT_FAULT_HEADER_TOO_LARGE);
    return at;
}

void http_chunks_scan(struct unit *unit, uint8_t *bytes, uint32_t end, const struct unit_limits *limits) {
    uint32_t at = unit->at;
    assert(at <= end && at >= unit->body_at + unit->body_bytes);
    while (at < end && unit->state < AT_TRAILER_LINE)
        at = scan_chunk(unit, bytes, at, end, limits);
    if (at < end && unit->state <= AT_LAST_FEED)
        at = scan_trailers(unit, bytes, at, end, limits);
    unit->at = at;
}
