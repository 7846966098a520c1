// A client of hub/tap: opens a tap, and takes its entries until the command ends.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/json/json.h"
#include "tools/usage.h"

struct tap_stream {
    const char *hub;
    const char *params; // the params of hub/tap
    uint64_t for_ns;    // how long the tap runs, in ns; 0: until an interrupt
    // Takes the params of a hub/tapped. Returns false to end the tap.
    bool (*take)(void *context, const uint8_t *body, struct span params);
    void *context;
};

// Follows the tap. Returns STATUS_DONE at an interrupt, when its time is over, or when `take` ends it. Returns
// STATUS_REFUSED if the hub refuses, with one line on standard error. Returns STATUS_UNREACHABLE if the hub can't be
// reached, or has closed.
enum status tap_stream_follow(const struct tap_stream *stream);
