#include "core/wire/lines.h"

#include <assert.h>
#include <string.h>

static bool is_blank(const uint8_t *bytes, uint32_t count) {
    for (uint32_t at = 0; at < count; at++)
        if (bytes[at] != ' ' && bytes[at] != '\t' && bytes[at] != '\r')
            return false;
    return true;
}

static enum unit_result refuse_line(struct unit *unit, enum unit_fault fault, uint32_t at) {
    assert(!unit->length_known);
    unit->fault = fault;
    unit->fault_at = at;
    return UNIT_BAD;
}

// Returns whether the line is a request line: METHOD TARGET HTTP/1.1. A web page can have a browser send any text, but
// only behind such a line.
static bool is_http(const uint8_t *line, uint32_t bytes) {
    static const char version[] = " HTTP/1.1";
    enum { VERSION_BYTES = sizeof version - 1, NAME_BYTES = sizeof " HTTP/" - 1 };
    return bytes > VERSION_BYTES && line[0] >= 'A' && line[0] <= 'Z' &&
           memcmp(line + bytes - VERSION_BYTES, version, NAME_BYTES) == 0;
}

// Ends a line that has `bytes` before its end. Most texts begin with a byte other than white space, so the check for a
// blank line reads a byte or two.
static enum unit_result close_line(struct unit *unit, const uint8_t *line, uint32_t bytes, uint32_t whole) {
    assert(!unit->fault && bytes <= whole);
    if (bytes && line[bytes - 1] == '\r')
        bytes--;
    if (is_http(line, bytes))
        return refuse_line(unit, UNIT_FAULT_HTTP, 0);
    unit->length_known = true;
    unit->bytes = whole;
    unit->body_bytes = is_blank(line, bytes) ? 0 : bytes;
    assert(unit->body_bytes <= unit->bytes);
    return UNIT_WHOLE;
}

// Returns the line feed within the limit, or after a CR right behind the limit; else NULL.
static const uint8_t *find_feed(const struct unit *unit, const uint8_t *line, uint32_t end, uint32_t max) {
    assert(end <= max + 2); // `at` may be from an earlier scan under another limit
    uint32_t within = end <= max ? end : max + 1;
    const uint8_t *feed = within > unit->at ? memchr(line + unit->at, '\n', within - unit->at) : NULL;
    if (!feed && end > max + 1 && line[max] == '\r' && line[max + 1] == '\n')
        return line + max + 1;
    return feed;
}

enum unit_result lines_scan(struct unit *unit, const uint8_t *line, size_t bytes,
                            const struct unit_limits *limits) {
    assert(bytes >= unit->at);
    if (unit->length_known)
        return UNIT_WHOLE;
    if (unit->fault)
        return UNIT_BAD;
    uint32_t open_max = lines_open_max(limits), max = limits->body_bytes_max;
    uint32_t end = bytes < open_max ? (uint32_t)bytes : open_max;
    const uint8_t *feed = find_feed(unit, line, end, max);
    if (feed)
        return close_line(unit, line, (uint32_t)(feed - line), (uint32_t)(feed - line) + 1);
    unit->at = end;
    if (end == open_max || (end > max && line[max] != '\r'))
        return refuse_line(unit, UNIT_FAULT_BODY_TOO_LARGE, max);
    return UNIT_OPEN;
}

enum unit_result lines_end(struct unit *unit, const uint8_t *line, size_t bytes) {
    assert(!unit->length_known && bytes >= unit->at);
    return close_line(unit, line, (uint32_t)bytes, (uint32_t)bytes);
}

uint32_t lines_open_max(const struct unit_limits *limits) {
    assert(limits->body_bytes_max <= UINT32_MAX - 2);
    return limits->body_bytes_max + sizeof "\r\n" - 1;
}
