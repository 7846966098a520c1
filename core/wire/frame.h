// The header block and the body's boundary, found in place (HugAI v2 headers; Hermes extension API, "Message
// Framing"; the field syntax is RFC 9110 section 5, made strict).
//
// The scanner looks at bytes that lie contiguously from the frame's start and never copies or keeps a
// pointer: its state is offsets, so the bytes may move between calls and the result is the same however they
// were chopped. Each byte of a header block is judged once. What it refuses is refused at the first fault in
// the order of the bytes.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/governance.h"

enum frame_result {
    FRAME_PARTIAL, // all good so far; header_bytes is 0 until the whole block has come
    FRAME_WHOLE,   // the first header_bytes + body_bytes bytes are one frame
    FRAME_BAD,     // fault and fault_at tell; the connection can't be used any more
};

// The one table of framing faults. The text is what a peer reads in the error's data. That a frame is late is
// for its reader to say.
#define FRAME_FAULTS(X)                                                                                      \
    X(FRAME_FAULT_NAME, "a field name must be one or more token characters, followed by a colon")            \
    X(FRAME_FAULT_VALUE, "a field value holds a control character")                                          \
    X(FRAME_FAULT_LINE_END, "lines end in CR LF")                                                            \
    X(FRAME_FAULT_LENGTH_MISSING, "Content-Length is missing")                                               \
    X(FRAME_FAULT_LENGTH, "Content-Length must be 1 to 10 decimal digits")                                   \
    X(FRAME_FAULT_LENGTH_ZERO, "Content-Length must not be zero")                                            \
    X(FRAME_FAULT_REPEATED, "this field may occur once only")                                                \
    X(FRAME_FAULT_CHARSET, "the charset must be utf-8")                                                      \
    X(FRAME_FAULT_HEADER_TOO_LARGE, "the header block is over the limit")                                    \
    X(FRAME_FAULT_BODY_TOO_LARGE, "the body is over the limit")                                              \
    X(FRAME_FAULT_LATE, "the frame was not whole in time")

enum frame_fault {
    FRAME_FAULT_NONE,
#define X(name, text) name,
    FRAME_FAULTS(X)
#undef X
        FRAME_FAULTS_COUNT
};

enum frame_version { FRAME_VERSION_ABSENT, FRAME_VERSION_SERVED, FRAME_VERSION_OTHER };

struct frame_limits {
    uint32_t header_bytes_max; // the block with its closing blank line
    uint32_t body_bytes_max;
};

// A scan under way. Zero bytes are a scan that has not begun: frame_scan_begin is a memset.
struct frame_scan {
    // Known once the block is whole.
    uint32_t header_bytes; // with the closing blank line; 0 before
    uint32_t body_bytes;
    uint32_t length_line_at; // the Content-Length line, with its CR LF
    uint32_t length_line_bytes;
    bool
        canonical; // that line is first and reads exactly "Content-Length: <digits without leading zero>\r\n"
    enum frame_version version;
    bool governance_given, governance_bad;
    enum governance governance; // when given and not bad
    bool timeout_given, timeout_bad;
    uint32_t timeout_ms; // when given and not bad: 1 to 3,600,000

    // After FRAME_BAD.
    enum frame_fault fault;
    uint32_t fault_at; // offset from the frame's start

    // The scanner's own.
    uint32_t at; // bytes judged so far
    uint32_t line_at;
    uint32_t colon_at;
    uint8_t state;
    uint8_t seen; // which of the fields that occur at most once have
};

static inline void frame_scan_begin(struct frame_scan *scan) {
    *scan = (struct frame_scan){0};
}

// Goes on with the frame that starts at `frame`, of which `bytes` have come; at least as many as at the last
// call, and the same ones. Reads nothing past `bytes`.
enum frame_result frame_scan(struct frame_scan *scan, const uint8_t *frame, size_t bytes,
                             const struct frame_limits *limits);

// What a peer is told about a fault; static ASCII that needs no escaping in JSON.
const char *frame_fault_text(enum frame_fault fault);
// Whether the fault is a limit passed (answered "frame too large") and not a syntax error (answered "parse
// error").
bool frame_fault_is_limit(enum frame_fault fault);
