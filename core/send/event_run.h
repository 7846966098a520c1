// Gathers events that lie one behind the other in a receive buffer and go the same way: they go out together as one
// stretch of that buffer. Canonical frames that lie side by side go so to receivers of frames.
//
// In three other cases the stretch is made ready anew: for receivers of another transport, for events that came by
// another transport, and where other bytes lie between (a NATS server's line before each). Then the bodies must be
// small, and no header fields may have come with them.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/base/governance.h"
#include "core/base/limits.h"
#include "core/send/parcel.h"

struct event_run {
    struct buffer *buffer;         // one reference
    uint64_t source;               // connection
    uint32_t at;                   // of the buffer
    uint32_t count;                // of frames; 0: there is no run
    uint32_t ends[EVENT_RUN_MAX];  // of the frames, from the first one's start
    uint32_t heads[EVENT_RUN_MAX]; // from the end of the frame before to the body
    uint32_t tail;                 // what stands behind each body
    bool canonical;                // the frames may go out as they lie
    bool dressable;                // their bodies may be written anew
    enum governance required;
    uint8_t lane;
    uint32_t name_bytes;
    char name[EVENT_BYTES_MAX];
};

// An event as it came, and what decides its way.
struct event_place {
    const struct frame *frame;
    uint64_t source;
    enum governance required;
    uint8_t lane;
    uint32_t name_bytes; // EVENT_BYTES_MAX at most
    const char *name;
};

// Whether the event may be part of a run: it lies as it would leave for the framed wire, or is a small body that no
// header fields came with.
bool event_run_takes(const struct frame *frame);
// Whether the event, which event_run_takes, lies behind the run and goes the same way.
bool event_run_goes_on(const struct event_run *run, const struct event_place *event);
// Begins a run where the event lies; it isn't added yet. The run before must have gone out. Takes a reference
// on its buffer.
void event_run_begin(struct event_run *run, const struct event_place *event);
// Adds the event behind the run's last one.
void event_run_add(struct event_run *run, const struct event_place *event);

// --- Stretches

// Small bodies that came side by side, made ready once for all receivers of a wire. Receivers get shares of
// one text, in which each body has its envelope and the line breaks of the wire.

// Writes `count` bodies, spans of the stretch in rising order, so that it is dressed for this wire, and to ends[] where
// each ends. A share of it is sent as it is, or shortened. NULL when memory or the budget is used up.
struct parcel *stretch_dressed(struct parcel_pool *pool, const struct parcel *stretch,
                               const struct wire *wire, const struct span *bodies, uint32_t *ends,
                               unsigned count);
