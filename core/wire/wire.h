// Wires: how bodies lie in a stream of bytes. Each wire is a row of functions: one finds its units (unit.h),
// others put an envelope around a body on the way out. The meaning of a peer's units is its transport's
// affair, not the wire's.
#pragma once

#include "core/wire/unit.h"

enum { WIRE_HEAD_BYTES_MAX = 16 + 10 + 2 }; // "Content-Length: ", ten digits, CR LF

// A header line that the hub adds to a unit's, with an empty line behind it that doesn't count. A copy of one
// may take WIRE_MOVE_BYTES of it without a look at its length.
enum { WIRE_LINE_BYTES_MAX = 156, WIRE_MOVE_BYTES = 32 };
struct wire_line {
    uint32_t bytes;
    char text[WIRE_LINE_BYTES_MAX];
};

// The fate of the line breaks in a body, each a CR, an LF or both, for receivers of a wire.
enum wire_breaks {
    BREAKS_PASS,   // nothing
    BREAKS_SPACES, // their bytes become spaces: the body is one line
    BREAKS_SPLIT,  // they end the lines of the body, each of which has an envelope
    BREAKS_KINDS,
};

struct wire {
    const char *name;

    // Coming in: goes on with the unit that starts at `bytes`, of which `count` have come. The scanner may
    // change bytes that it has looked at (unmask, close gaps).
    enum unit_result (*scan)(struct unit *unit, uint8_t *bytes, size_t count,
                             const struct unit_limits *limits);
    // As many bytes as a unit can have while its length isn't known: with all of them scan must tell.
    uint32_t (*open_max)(const struct unit_limits *limits);
    bool opens_with_body; // and those bytes are its body's, not its envelope's
    bool has_gaps;        // a body may lie in pieces (unit.h)
    // The stream has ended in a unit of which scan said UNIT_OPEN. NULL: nothing comes of it.
    enum unit_result (*end)(struct unit *unit, const uint8_t *bytes, size_t count);

    // Going out: writes what stands before a body of so many bytes, WIRE_HEAD_BYTES_MAX at most, and returns
    // its length; NULL: nothing does.
    size_t (*head)(char *out, uint64_t body_bytes);
    const char *tail; // what stands behind a body; static
    size_t tail_bytes;
    bool has_fields; // header fields follow the head, and an empty line
    enum wire_breaks breaks;
    const char *between_lines; // with BREAKS_SPLIT: what stands in place of a break
};

// The wires: Content-Length blocks (core/wire/frame.h), lines (core/wire/lines.h), WebSocket
// (core/wire/websocket.h), requests of HTTP (core/wire/http.h), server-sent events (core/wire/sse.h), and a
// NATS server's words (core/wire/nats.h). HTTP's answers bear a head that isn't the wire's to write, and
// messages to a NATS server bear a head of their own.
extern const struct wire wire_framed, wire_lines, wire_websocket, wire_http, wire_sse, wire_nats;
enum { WIRES_COUNT = 6 };
