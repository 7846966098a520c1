// Wires: how bodies lie in a stream of bytes. Each is a row: how its units are found (unit.h), and what it
// puts around a body on the way out. What a peer's units mean is its transport's affair, not the wire's.
#pragma once

#include "core/wire/unit.h"

enum { WIRE_HEAD_BYTES_MAX = 16 + 10 + 2 }; // "Content-Length: ", ten digits, CR LF

struct wire {
    const char *name;

    // Coming in: goes on with the unit that starts at `bytes`, of which `count` have come.
    enum unit_result (*scan)(struct unit *unit, const uint8_t *bytes, size_t count,
                             const struct unit_limits *limits);
    // As many bytes as a unit can have while its length isn't known: with all of them scan must tell.
    uint32_t (*open_max)(const struct unit_limits *limits);
    bool opens_with_body; // and those bytes are its body's, not its envelope's
    // The stream has ended in a unit of which scan said UNIT_OPEN. NULL: nothing comes of it.
    enum unit_result (*end)(struct unit *unit, const uint8_t *bytes, size_t count);

    // Going out: writes what stands before a body of so many bytes, WIRE_HEAD_BYTES_MAX at most, and returns
    // its length; NULL: nothing does.
    size_t (*head)(char *out, uint64_t body_bytes);
    const char *tail; // what stands behind a body; static
    bool has_fields;  // header fields follow the head, and an empty line
    bool one_line;    // a body may hold no line break: those that it has become spaces
};

// Content-Length blocks (core/wire/frame.h) and lines (core/wire/lines.h).
extern const struct wire wire_framed, wire_lines;
