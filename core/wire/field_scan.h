// Scans the lines of a header block as they come in, for all wires that have some. Each byte is judged once,
// a field when its line is whole, the block at its blank line. Inline, so that each wire's own judgement is
// known where it is used.
#pragma once

#include <assert.h>

#include "core/wire/field.h"
#include "core/wire/unit.h"

// The place of the next byte: unit.state, counted from the first of a wire's states that are these.
enum { FIELDS_AT_LINE, FIELDS_IN_NAME, FIELDS_IN_VALUE, FIELDS_AT_FEED, FIELDS_AT_LAST_FEED, FIELDS_STATES };

struct fields_wire {
    uint8_t first;   // unit.state of FIELDS_AT_LINE
    uint8_t refused; // unit.state after a fault
    // The line from unit->line_at to line_end, with its CR LF, is whole and its syntax good.
    void (*check)(struct unit *unit, const uint8_t *bytes, uint32_t line_end,
                  const struct unit_limits *limits);
    // The block ends at `at`, behind its blank line, which begins at unit->line_at.
    void (*end)(struct unit *unit, const uint8_t *bytes, uint32_t at);
};

static inline void fields_refuse(struct unit *unit, const struct fields_wire *wire, enum unit_fault fault,
                                 uint32_t at) {
    assert(fault > UNIT_FAULT_NONE && fault < UNIT_FAULTS_COUNT && !unit->sized);
    unit->state = wire->refused;
    unit->fault = fault;
    unit->fault_at = at;
}

// The steps: each takes the offset of the next byte, of which there is one at least before `end`, and returns the offset
// it came to. (In a register on the way: kept in *unit it costs twice the time.)

static inline void fields_go_to(struct unit *unit, const struct fields_wire *wire, unsigned state) {
    unit->state = (uint8_t)(wire->first + state);
}

static inline uint32_t fields_line(struct unit *unit, const struct fields_wire *wire, const uint8_t *bytes,
                                   uint32_t at) {
    if (bytes[at] == '\r') {
        fields_go_to(unit, wire, FIELDS_AT_LAST_FEED);
        return at + 1;
    }
    if (field_token[bytes[at]])
        fields_go_to(unit, wire, FIELDS_IN_NAME);
    else
        fields_refuse(unit, wire, bytes[at] == '\n' ? UNIT_FAULT_LINE_END : UNIT_FAULT_NAME, at);
    return at;
}

static inline uint32_t fields_name(struct unit *unit, const struct fields_wire *wire, const uint8_t *bytes,
                                   uint32_t at, uint32_t end) {
    at = field_skip_name(bytes, at, end);
    if (at == end)
        return at;
    if (bytes[at] != ':') {
        fields_refuse(unit, wire, UNIT_FAULT_NAME, at);
        return at;
    }
    unit->colon_at = at;
    fields_go_to(unit, wire, FIELDS_IN_VALUE);
    return at + 1;
}

static inline uint32_t fields_value(struct unit *unit, const struct fields_wire *wire, const uint8_t *bytes,
                                    uint32_t at, uint32_t end) {
    at = field_skip_value(bytes, at, end);
    if (at == end)
        return at;
    if (bytes[at] != '\r') {
        fields_refuse(unit, wire, bytes[at] == '\n' ? UNIT_FAULT_LINE_END : UNIT_FAULT_VALUE, at);
        return at;
    }
    fields_go_to(unit, wire, FIELDS_AT_FEED);
    return at + 1;
}

static inline uint32_t fields_feed(struct unit *unit, const struct fields_wire *wire, const uint8_t *bytes,
                                   uint32_t at, const struct unit_limits *limits) {
    bool last = unit->state == wire->first + FIELDS_AT_LAST_FEED;
    if (bytes[at] != '\n') {
        fields_refuse(unit, wire, UNIT_FAULT_LINE_END, at);
        return at;
    }
    if (last) {
        wire->end(unit, bytes, at + 1);
        return at + 1;
    }
    fields_go_to(unit, wire, FIELDS_AT_LINE);
    wire->check(unit, bytes, at + 1, limits);
    unit->line_at = at + 1;
    return at + 1;
}

// Goes on to `end`, to the block's end or to a fault.
static inline void fields_scan(struct unit *unit, const struct fields_wire *wire, const uint8_t *bytes,
                               uint32_t end, const struct unit_limits *limits) {
    uint32_t at = unit->at;
    while (at < end && unit->state - wire->first < FIELDS_STATES) {
        switch (unit->state - wire->first) {
        case FIELDS_AT_LINE:
            at = fields_line(unit, wire, bytes, at);
            break;
        case FIELDS_IN_NAME:
            at = fields_name(unit, wire, bytes, at, end);
            break;
        case FIELDS_IN_VALUE:
            at = fields_value(unit, wire, bytes, at, end);
            break;
        default:
            at = fields_feed(unit, wire, bytes, at, limits);
            break;
        }
    }
    unit->at = at;
}
