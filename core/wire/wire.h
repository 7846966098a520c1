// Wires: how bodies lie in a stream of bytes. Each wire is a table of functions: one finds the wire's units (unit.h),
// the others write the envelope around an outgoing body. The transport, not the wire, knows what a peer's units mean.
#pragma once

#include "core/wire/unit.h"

enum { WIRE_HEAD_BYTES_MAX = 16 + 10 + 2 }; // "Content-Length: ", ten digits, CR LF

// A header line that the hub adds to a unit, and an empty line, which `bytes` doesn't count. A copy may take
// WIRE_MOVE_BYTES of the text without a look at its length.
enum { WIRE_LINE_BYTES_MAX = 156, WIRE_MOVE_BYTES = 32 };
struct wire_line {
    uint32_t bytes;
    char text[WIRE_LINE_BYTES_MAX];
};

// The ways in which a wire rewrites the line breaks in a body. A line break is a CR, an LF or both.
enum wire_breaks {
    BREAKS_PASS,   // line breaks stay
    BREAKS_SPACES, // the bytes of line breaks become spaces: the body is one line
    BREAKS_SPLIT,  // line breaks end the lines of the body, each of which gets an envelope
    BREAKS_KINDS,
};

struct wire {
    const char *name;

    // Incoming: scans on in the unit that starts at `bytes`, of which `count` have come. The scanner may change bytes
    // that it has looked at (unmask, close gaps).
    enum unit_result (*scan)(struct unit *unit, uint8_t *bytes, size_t count,
                             const struct unit_limits *limits);
    // Returns the most bytes that a unit can have while its length isn't known. With so many bytes, `scan` must know
    // the length or find a fault.
    uint32_t (*open_max)(const struct unit_limits *limits);
    bool opens_with_body; // the first bytes of a unit are the body, not an envelope
    bool has_gaps;        // a body may come in pieces (unit.h)
    // Ends a unit for which `scan` returned UNIT_OPEN, because the stream has ended. NULL: such a unit is dropped.
    enum unit_result (*end)(struct unit *unit, const uint8_t *bytes, size_t count);

    // Outgoing: writes the bytes before a body of `body_bytes`, WIRE_HEAD_BYTES_MAX at most, and returns their number.
    // NULL: there are none.
    size_t (*head)(char *out, uint64_t body_bytes);
    const char *tail; // the bytes behind a body; static
    size_t tail_bytes;
    bool has_fields; // header fields follow the head, and an empty line
    enum wire_breaks breaks;
    const char *between_lines; // with BREAKS_SPLIT: the text in place of a line break
};

// The wires: Content-Length blocks (core/wire/frame.h), lines (core/wire/lines.h), WebSocket (core/wire/websocket.h),
// requests of HTTP (core/wire/http.h), server-sent events (core/wire/sse.h), and the NATS protocol (core/wire/nats.h).
// The router, not the wire, writes the heads of HTTP's answers and of messages to a NATS server.
extern const struct wire wire_framed, wire_lines, wire_websocket, wire_http, wire_sse, wire_nats;
enum { WIRES_COUNT = 6 };
