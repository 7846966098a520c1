// The chunks' data is moved down to the body's end as it comes. line_at counts the bytes that the chunk still
// lacks, and colon_at the bytes of its first line, or of the trailer. Neither is an offset, so that dead
// bytes behind the body may be cut out at any time.
#include "core/wire/http_chunks.h"

#include <assert.h>
#include <string.h>

#include "core/wire/field.h"
#include "core/wire/http_state.h"

enum state {
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
    assert(fault > UNIT_FAULT_NONE && fault < UNIT_FAULTS_COUNT && !unit->sized);
    unit->state = HTTP_REFUSED;
    unit->fault = fault;
    unit->fault_at = unit->body_at + unit->body_bytes;
}

void http_chunks_begin(struct unit *unit, uint32_t at) {
    assert(unit->body_bytes == 0 && !unit->sized);
    unit->state = IN_SIZE;
    unit->body_at = at;
    unit->line_at = unit->colon_at = 0;
}

static int hex_value(uint8_t byte) {
    uint8_t lower = field_lower(byte);
    return field_is_digit(byte) ? byte - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Refused as soon as the sum of the chunks is over the limit, before any of this one is taken.
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

// One byte that must be this one.
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
    unit->sized = true;
    unit->bytes = at + 1;
}

static uint32_t scan_chunk(struct unit *unit, uint8_t *bytes, uint32_t at, uint32_t end,
                           const struct unit_limits *limits) {
    switch ((enum state)unit->state) {
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
    switch ((enum state)unit->state) {
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

// The trailer may have as many bytes as a header block.
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
