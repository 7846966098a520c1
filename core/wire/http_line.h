// The request line of HTTP/1.x (RFC 9112 section 3) and authorities (RFC 3986 section 3.2), made strict.
#pragma once

#include "core/json/json.h"
#include "core/wire/unit.h"

// Spans of the bytes that the line lies in.
struct http_line {
    struct span method;
    struct span target;
    struct span path;      // "/" of a URI that has none, "*" of OPTIONS *
    struct span query;     // behind the question mark
    struct span authority; // of a URI; else 0 bytes
    bool is_1_0;
};

// Reads the line from `at` up to its CR LF at `end`. UNIT_FAULT_NONE, or what is wrong and where.
enum unit_fault http_line_read(const uint8_t *bytes, uint32_t at, uint32_t end, struct http_line *out,
                               uint32_t *fault_at);

// The authority of a Host field or a URI: host[:port]. The host is a registered name or an IPv4 address, or
// an IPv6 address in its brackets; never empty.
struct http_authority {
    struct span host; // with the brackets
    uint32_t port;    // 0: none is given
};

// False when it is none.
bool http_authority_read(const uint8_t *bytes, struct span text, struct http_authority *out);
