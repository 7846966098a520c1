// Finds in place the protocol messages of a NATS server (docs.nats.io, "Client Protocol"): a line, and the payload
// behind a MSG or HMSG. A unit's body is the payload without the headers.
#pragma once

#include "core/json/json.h"
#include "core/wire/unit.h"

enum {
    NATS_LINE_BYTES_MAX = 64 * 1024,          // INFO lists servers; all other lines are short
    NATS_PAYLOAD_BYTES_MAX = 64 * 1024 * 1024 // the most that a server can be configured to allow
};

enum nats_verb { NATS_INFO, NATS_MSG, NATS_HMSG, NATS_PING, NATS_PONG, NATS_OK, NATS_ERR, NATS_VERBS };

// The parts of a message, as spans of the unit's bytes; an empty span: the message has no such part.
struct nats_message {
    enum nats_verb verb;
    struct span subject, sid, reply;
    struct span headers;  // from "NATS/1.0" to the end of the blank line
    struct span argument; // of INFO and -ERR: the rest of the line
};

// Scans on in the unit that starts at `bytes`, of which `count` have come. Reads nothing past `count`. The body of a
// line without a payload is empty, and the unit matters.
enum unit_result nats_scan(struct unit *unit, const uint8_t *bytes, size_t count,
                           const struct unit_limits *limits);
// Returns the most bytes that a line may have.
uint32_t nats_open_max(const struct unit_limits *limits);
// Reads a whole unit.
void nats_read(const uint8_t *bytes, const struct unit *unit, struct nats_message *out);
// Returns the number behind "NATS/1.0" in the first line of headers, or 0 if there is none. 503 is "no responders".
uint32_t nats_status(const uint8_t *bytes, struct span headers);
