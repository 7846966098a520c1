// Words of a NATS server (docs.nats.io, "Client Protocol"), found in place: a line, and behind a MSG or HMSG
// its payload. The body of a unit is its payload's, without the headers.
#pragma once

#include "core/json/json.h"
#include "core/wire/unit.h"

enum {
    NATS_LINE_BYTES_MAX = 64 * 1024,          // INFO lists servers; all other lines are short
    NATS_PAYLOAD_BYTES_MAX = 64 * 1024 * 1024 // what a server can be told to let pass
};

enum nats_verb { NATS_INFO, NATS_MSG, NATS_HMSG, NATS_PING, NATS_PONG, NATS_OK, NATS_ERR, NATS_VERBS };

// Spans of the unit's bytes; bytes 0: it has none.
struct nats_message {
    enum nats_verb verb;
    struct span subject, sid, reply;
    struct span headers;  // from "NATS/1.0" to the blank line and with it
    struct span argument; // of INFO and -ERR: the rest of the line
};

// Goes on with the unit that starts at `bytes`, of which `count` have come. Reads nothing past them. The body of a
// line without a payload is empty, and it matters.
enum unit_result nats_scan(struct unit *unit, const uint8_t *bytes, size_t count,
                           const struct unit_limits *limits);
// Returns the most bytes that a line may have.
uint32_t nats_open_max(const struct unit_limits *limits);
// Reads a unit that is whole.
void nats_read(const uint8_t *bytes, const struct unit *unit, struct nats_message *out);
// Returns the number behind "NATS/1.0" in the first line of headers: 503 is "no responders"; 0: there is no
// number.
uint32_t nats_status(const uint8_t *bytes, struct span headers);
