// One unit of a peer's stream, as the peer's wire delimits it: an envelope and a body in it, or nothing at
// all (an empty line). A wire's scanner looks at bytes that lie contiguously from the unit's start and never
// copies or keeps a pointer. The scanner's state is offsets, so the bytes may move between calls, and the
// result is the same however they were chopped. A unit is refused at its first fault in the order of the
// bytes, and a fault is for ever.
//
// Where a body lies in pieces (chunks, fragments), the scanner closes the gaps in place. The judged part of
// the body is always body_bytes from body_at on. Bytes behind that, up to `at`, are of no use any more
// (has_gaps). The keeper of the bytes may take them out (unit_close_gap), so that they need no memory.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/governance.h"
#include "core/wire/websocket_mask.h"

enum unit_result {
    UNIT_OPEN,    // all good so far; its length isn't known yet
    UNIT_PARTIAL, // its length is known, and not all of it has come
    UNIT_WHOLE,   // the first unit.bytes bytes are one unit
    UNIT_ASIDE,   // before its end has come something that is to be answered at once: aside tells
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

// Together they fit 32 bits, and a line's end besides.
struct unit_limits {
    uint32_t header_bytes_max; // a header block with its closing blank line
    uint32_t body_bytes_max;
};

enum unit_version { VERSION_ABSENT, VERSION_SERVED, VERSION_OTHER };

// Directives of an envelope for its body (HugAI v2 headers). Zero bytes: none.
struct directives {
    uint32_t timeout_ms; // when given and not bad: 1 to 3,600,000
    uint32_t idle_ms;    // likewise: for which neither an answer nor progress may come
    enum unit_version version : 8;
    enum governance governance : 8; // when given and not bad
    bool has_governance : 1, governance_bad : 1;
    bool has_timeout : 1, timeout_bad : 1;
    bool has_idle : 1, idle_bad : 1;
    bool timeout_is_left : 1; // the time is what another hub leaves: the source has given none
};

// Whether a value of one of these fields could not be read, or isn't served.
static inline bool directives_is_bad(const struct directives *directives) {
    return directives->version == VERSION_OTHER || directives->governance_bad || directives->timeout_bad ||
           directives->idle_bad;
}

// Zero bytes are a unit of which nothing has come.
struct unit {
    bool sized : 1;            // its length is known: all below is good, up to the fault
    bool matters : 1;          // also if nothing is in it: it isn't an empty line or the like
    bool canonical : 1;        // the Content-Length line is first and reads exactly
                               // "Content-Length: <digits without leading zero>\r\n"
    bool names_user : 1;       // it says whose it is (Patchbay-User), which is the hub's to say
    bool skipped : 1;          // it was refused, and the rest of it is thrown away, up to a line feed
    enum unit_fault fault : 8; // after UNIT_BAD
    uint8_t state;             // the scanner's own, as seen and the last three
    uint8_t seen;              // which of the fields that occur at most once have
    uint32_t bytes;            // envelope and body
    uint32_t body_at;          // from its start
    uint32_t body_bytes;
    struct directives directives;
    union {
        struct {
            uint32_t length_line_at; // of a header block: its Content-Length line, with the CR LF
            uint32_t length_line_bytes;
        };
        struct { // of what a NATS server says, from its start, as those below: a line has less than 64 KiB
            uint16_t subject_at, subject_bytes;
            uint16_t reply_at, reply_bytes;
        };
        struct {
            uint32_t aside_at; // after UNIT_ASIDE, from the unit's start
            uint32_t aside_bytes;
        };
    };
    uint32_t fault_at; // offset from the unit's start
    uint32_t at;       // bytes judged so far
    union {
        struct { // of a header block
            uint32_t line_at;
            uint32_t colon_at;
        };
        struct {                 // likewise
            uint16_t line_bytes; // without its CR LF
            uint8_t verb;        // enum nats_verb
            uint16_t sid_at, sid_bytes;
        };
        struct {           // of a WebSocket frame
            uint32_t left; // of its payload
            uint8_t mask[WEBSOCKET_MASK_BYTES];
        };
    };
};

static inline void unit_begin(struct unit *unit) {
    *unit = (struct unit){0};
}

// How many bytes from the end of the body so far on are of no use any more: of a wire that has gaps alone.
static inline uint32_t unit_gap(const struct unit *unit) {
    uint32_t end = unit->body_at + unit->body_bytes;
    return unit->body_at && unit->at > end ? unit->at - end : 0;
}
// Notes that the gap has been taken out: the bytes behind it lie there now.
static inline void unit_close_gap(struct unit *unit) {
    unit->at -= unit_gap(unit);
}

// Returns the text of a fault for the peer; static ASCII that needs no escaping in JSON.
const char *unit_fault_text(enum unit_fault fault);
// Whether the fault is a limit passed (answered "frame too large") and not a syntax error (answered "parse
// error").
bool unit_fault_is_limit(enum unit_fault fault);
