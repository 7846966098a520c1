// Gathers events that lie one behind the other in a receive buffer and have the same receivers. The events leave
// together, as one part of that buffer. Canonical frames that lie side by side leave unchanged for receivers of
// frames.
//
// In three other cases the bodies are written anew: for receivers of another transport, for events that came by another
// transport, and where other bytes lie between the frames (a NATS server's line before each). Then the bodies must be
// small, and must have come without header fields.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/base/governance.h"
#include "core/base/limits.h"
#include "core/send/parcel.h"

struct event_run {
    struct buffer *buffer;         // the run has one reference
    uint64_t source;               // the sender's connection
    uint32_t at;                   // offset of the run in the buffer
    uint32_t count;                // number of frames; 0: there is no run
    uint32_t ends[EVENT_RUN_MAX];  // end of each frame, counted from the start of the first frame
    uint32_t heads[EVENT_RUN_MAX]; // bytes between the end of the frame before and each body
    uint32_t tail;                 // bytes behind each body, in its frame
    bool canonical;                // the frames may leave unchanged
    bool encodable;                // the bodies may be written anew
    enum governance required;
    uint8_t lane;
    uint32_t name_bytes;
    char name[EVENT_BYTES_MAX];
};

// An event as it came, and the properties that decide its receivers.
struct event_place {
    const struct frame *frame;
    uint64_t source;
    enum governance required;
    uint8_t lane;
    uint32_t name_bytes; // at most EVENT_BYTES_MAX
    const char *name;
};

// Returns whether the event may be part of a run: the frame may leave unchanged for the framed wire, or the body is
// small and came without header fields.
bool event_run_takes(const struct frame *frame);
// Returns whether the event lies behind the run and has the same receivers. event_run_takes must be true for the event.
bool event_run_goes_on(const struct event_run *run, const struct event_place *event);
// Begins a run at the event, and takes a reference on the buffer. event_run_add must follow for the same event. The run
// before must have been sent.
void event_run_begin(struct event_run *run, const struct event_place *event);
// Adds the event to the end of the run.
void event_run_add(struct event_run *run, const struct event_place *event);

// --- Frame runs

// Small bodies that came side by side, encoded once for all receivers of a wire. Receivers get shares of one text, in
// which each body has its envelope and the wire's line breaks.

// Makes a parcel of `count` bodies, each with the envelope of this wire. `bodies` are spans of the frame run in rising
// order. Sets ends[] to the end of each body with its envelope. A share of the parcel is sent unchanged, or shortened
// (parcel_shorten). Returns NULL without memory or room in the budget.
struct parcel *frame_run_encode(struct parcel_pool *pool, const struct parcel *frame_run,
                                const struct wire *wire, const struct span *bodies, uint32_t *ends,
                                unsigned count);
