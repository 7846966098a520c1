// One unit of a peer's stream, as the peer's wire delimits units: an envelope with a body, or nothing at all (an empty
// line). A wire's scanner looks at bytes that lie contiguously from the unit's start, and never copies bytes or keeps a
// pointer. The scanner's state is offsets, so the bytes may move between calls. The result is the same for any division
// of the bytes into arrivals. A unit is refused at its first fault in the order of the bytes; the fault is final.
//
// If a body comes in pieces (chunks, fragments), the scanner closes the gaps in place. The judged part of the body is
// always body_bytes from body_at on. The bytes behind that part, up to `at`, are not needed any more (has_gaps). The
// owner of the bytes may remove these (unit_close_gap), to save memory.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/governance.h"
#include "core/wire/websocket_mask.h"

enum unit_result {
    UNIT_OPEN,    // no fault so far; the length isn't known yet
    UNIT_PARTIAL, // the length is known, and not all bytes have come
    UNIT_WHOLE,   // the first unit.bytes bytes are one unit
    // A control frame or an expectation came that must be answered before the unit's end: see control_at
    UNIT_CONTROL,
    UNIT_BAD, // see fault and fault_at; the connection can't be used any more
};

// All faults. The peer reads the text in the error's data.
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
    X(UNIT_FAULT_HTTP, "this is a line of HTTP")                                                             \
    X(UNIT_FAULT_WEBSOCKET_BITS, "a reserved bit is set")                                                    \
    X(UNIT_FAULT_WEBSOCKET_OPCODE, "the opcode is reserved")                                                 \
    X(UNIT_FAULT_WEBSOCKET_UNMASKED, "a client masks its frames")                                            \
    X(UNIT_FAULT_WEBSOCKET_MASKED, "a server masks no frame")                                                \
    X(UNIT_FAULT_WEBSOCKET_CONTROL, "a control frame is whole and has 125 bytes at most")                    \
    X(UNIT_FAULT_WEBSOCKET_LENGTH, "a length has no more bytes than it needs")                               \
    X(UNIT_FAULT_WEBSOCKET_CONTINUATION, "there is no message to go on with")                                \
    X(UNIT_FAULT_WEBSOCKET_WITHIN, "the message before is not at its end")                                   \
    X(UNIT_FAULT_WEBSOCKET_BINARY, "messages are text")                                                      \
    X(UNIT_FAULT_WEBSOCKET_UTF8, "the text is not UTF-8")                                                    \
    X(UNIT_FAULT_WEBSOCKET_CLOSE, "a close has a code that may be sent, or nothing")                         \
    X(UNIT_FAULT_REQUEST_LINE, "a request begins with METHOD TARGET HTTP/1.1, one space between")            \
    X(UNIT_FAULT_REQUEST_LINE_TOO_LONG, "the request line is over 8 KiB")                                    \
    X(UNIT_FAULT_TARGET, "the target must be a path, an http URI, or * with OPTIONS")                        \
    X(UNIT_FAULT_HTTP_VERSION, "only HTTP/1.1 and HTTP/1.0 are served")                                      \
    X(UNIT_FAULT_HOST, "Host must be there, a valid authority, and that of the target if it has one")        \
    X(UNIT_FAULT_CODING, "Transfer-Encoding must be chunked, of HTTP/1.1, and without Content-Length")       \
    X(UNIT_FAULT_CHUNK, "a chunk is its size in hexadecimal digits, CR LF, so many bytes, CR LF")            \
    X(UNIT_FAULT_EXPECT, "100-continue alone can be expected")                                               \
    X(UNIT_FAULT_NATS, "this is nothing that a NATS server says")

enum unit_fault {
    UNIT_FAULT_NONE,
#define X(name, text) name,
    UNIT_FAULTS(X)
#undef X
        UNIT_FAULTS_COUNT
};

// The sum of the limits and of a line's end fits 32 bits.
struct unit_limits {
    uint32_t header_bytes_max; // a header block with its closing blank line
    uint32_t body_bytes_max;
};

enum unit_version { VERSION_ABSENT, VERSION_SERVED, VERSION_OTHER };

// Directives of an envelope for its body (HugAI v2 headers). Zero bytes: none.
struct directives {
    uint32_t timeout_ms; // 1 to 3,600,000 with has_timeout, unless timeout_bad
    uint32_t idle_ms;    // with has_idle, unless idle_bad: how long neither an answer nor progress may come
    enum unit_version version : 8;
    enum governance governance : 8; // with has_governance, unless governance_bad
    bool has_governance : 1, governance_bad : 1;
    bool has_timeout : 1, timeout_bad : 1;
    bool has_idle : 1, idle_bad : 1;
    // timeout_ms is the time left that another hub sent; the source has given no time
    bool timeout_is_left : 1;
};

// Returns whether one of these fields has a value that can't be read or isn't served.
static inline bool directives_is_bad(const struct directives *directives) {
    return directives->version == VERSION_OTHER || directives->governance_bad || directives->timeout_bad ||
           directives->idle_bad;
}

// Zero bytes are a unit of which nothing has come.
struct unit {
    bool length_known : 1;        // the length is known: all fields below are valid, up to `fault`
    bool counts_without_body : 1; // the unit counts even without a body: it isn't an empty line or the like
    bool canonical : 1;           // the Content-Length line is first and reads exactly
                                  // "Content-Length: <digits without leading zero>\r\n"
    bool names_user : 1;          // the unit has Patchbay-User, a field that the hub alone may set
    bool skipped : 1;             // the unit was refused, and its rest is dropped, up to a line feed
    enum unit_fault fault : 8;    // after UNIT_BAD
    uint8_t state;                // for the scanner alone, as `seen` and the last three fields
    uint8_t seen;                 // which of the fields that may occur once have occurred
    uint32_t bytes;               // of envelope and body together
    uint32_t body_at;             // offset from the unit's start
    uint32_t body_bytes;
    struct directives directives;
    union {
        struct {
            // Of a header block: offset of its Content-Length line, and bytes with the CR LF
            uint32_t length_line_at;
            uint32_t length_line_bytes;
        };
        // Of a line of a NATS server: offsets from the unit's start, in 16 bits since a line has less than 64
        // KiB
        struct {
            uint16_t subject_at, subject_bytes;
            uint16_t reply_at, reply_bytes;
        };
        struct {
            uint32_t control_at; // after UNIT_CONTROL: offset from the unit's start
            uint32_t control_bytes;
        };
    };
    uint32_t fault_at; // offset from the unit's start
    uint32_t at;       // offset behind the bytes judged so far
    union {
        struct { // of a header block
            uint32_t line_at;
            uint32_t colon_at;
        };
        struct {                 // of a line of a NATS server
            uint16_t line_bytes; // of the line, without its CR LF
            uint8_t verb;        // enum nats_verb
            uint16_t sid_at, sid_bytes;
        };
        struct {           // of a WebSocket frame
            uint32_t left; // bytes of the payload that must still come
            uint8_t mask[WEBSOCKET_MASK_BYTES];
        };
    };
};

static inline void unit_begin(struct unit *unit) {
    *unit = (struct unit){0};
}

// Returns how many bytes behind the body so far aren't needed any more. More than 0 only for a wire that has gaps.
static inline uint32_t unit_gap(const struct unit *unit) {
    uint32_t end = unit->body_at + unit->body_bytes;
    return unit->body_at && unit->at > end ? unit->at - end : 0;
}
// Notes that the gap has been removed: the bytes behind the gap have moved to its place.
static inline void unit_close_gap(struct unit *unit) {
    unit->at -= unit_gap(unit);
}

// Returns the text of a fault for the peer; static ASCII that needs no escaping in JSON.
const char *unit_fault_text(enum unit_fault fault);
// Returns whether the fault is a limit (answered "frame too large") and not a syntax error (answered "parse error").
bool unit_fault_is_limit(enum unit_fault fault);
