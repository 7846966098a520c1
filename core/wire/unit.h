// One unit of what a peer sends, as its wire delimits it: an envelope and a body in it, or nothing at all (an
// empty line). A wire's scanner looks at bytes that lie contiguously from the unit's start and never copies
// or keeps a pointer: its state is offsets, so the bytes may move between calls, and the result is the same
// however they were chopped. What it refuses is refused at the first fault in the order of the bytes, and a
// fault is for ever.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/governance.h"

enum unit_result {
    UNIT_OPEN,    // all good so far; its length isn't known yet
    UNIT_PARTIAL, // its length is known, and not all of it has come
    UNIT_WHOLE,   // the first unit.bytes bytes are one unit
    UNIT_BAD,     // fault and fault_at tell; the connection can't be used any more
};

// The one table of faults. The text is what a peer reads in the error's data.
#define UNIT_FAULTS(X)                                                                                       \
    X(UNIT_FAULT_NAME, "a field name must be one or more token characters, followed by a colon")             \
    X(UNIT_FAULT_VALUE, "a field value holds a control character")                                           \
    X(UNIT_FAULT_LINE_END, "lines end in CR LF")                                                             \
    X(UNIT_FAULT_LENGTH_MISSING, "Content-Length is missing")                                                \
    X(UNIT_FAULT_LENGTH, "Content-Length must be 1 to 10 decimal digits")                                    \
    X(UNIT_FAULT_LENGTH_ZERO, "Content-Length must not be zero")                                             \
    X(UNIT_FAULT_REPEATED, "this field may occur once only")                                                 \
    X(UNIT_FAULT_CHARSET, "the charset must be utf-8")                                                       \
    X(UNIT_FAULT_HEADER_TOO_LARGE, "the header block is over the limit")                                     \
    X(UNIT_FAULT_BODY_TOO_LARGE, "the body is over the limit")                                               \
    X(UNIT_FAULT_LATE, "the frame was not whole in time")                                                    \
    X(UNIT_FAULT_HTTP, "this is a line of HTTP")

enum unit_fault {
    UNIT_FAULT_NONE,
#define X(name, text) name,
    UNIT_FAULTS(X)
#undef X
        UNIT_FAULTS_COUNT
};

// Together they fit 32 bits, and a line's end besides.
struct unit_limits {
    uint32_t header_bytes_max; // a header block with its closing blank line
    uint32_t body_bytes_max;
};

enum unit_version { VERSION_ABSENT, VERSION_SERVED, VERSION_OTHER };

// What an envelope says of its body (HugAI v2 headers). Zero bytes: nothing.
struct directives {
    uint32_t timeout_ms; // when given and not bad: 1 to 3,600,000
    enum unit_version version : 8;
    enum governance governance : 8; // when given and not bad
    bool governance_given, governance_bad;
    bool timeout_given, timeout_bad;
};

// Zero bytes are a unit of which nothing has come.
struct unit {
    bool sized : 1;            // its length is known: all below is good, up to the fault
    bool canonical : 1;        // the Content-Length line is first and reads exactly
                               // "Content-Length: <digits without leading zero>\r\n"
    enum unit_fault fault : 8; // after UNIT_BAD
    uint8_t state;             // the scanner's own, as seen and the last three
    uint8_t seen;              // which of the fields that occur at most once have
    uint32_t bytes;            // envelope and body
    uint32_t body_at;          // from its start
    uint32_t body_bytes;       // 0: there is nothing in it
    struct directives directives;
    uint32_t length_line_at; // of a header block: its Content-Length line, with the CR LF
    uint32_t length_line_bytes;
    uint32_t fault_at; // offset from the unit's start
    uint32_t at;       // bytes judged so far
    uint32_t line_at;
    uint32_t colon_at;
};

static inline void unit_begin(struct unit *unit) {
    *unit = (struct unit){0};
}

// What a peer is told about a fault; static ASCII that needs no escaping in JSON.
const char *unit_fault_text(enum unit_fault fault);
// Whether the fault is a limit passed (answered "frame too large") and not a syntax error (answered "parse
// error").
bool unit_fault_is_limit(enum unit_fault fault);
