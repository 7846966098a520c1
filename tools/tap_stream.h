// A tap of the hub's as a client sees it: opens one, and takes what comes until somebody ends it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/json/json.h"
#include "tools/usage.h"

struct tap_stream {
    const char *hub;
    const char *params; // of hub/tap
    uint64_t for_ns;    // when it ends; 0: at an interrupt
    // Takes the params of a hub/tapped. False: that was all.
    bool (*take)(void *context, const uint8_t *body, struct span params);
    void *context;
};

// Follows the stream. STATUS_DONE at an interrupt, when its time is over, or when `take` says so. STATUS_REFUSED: the hub's error
// is one line on standard error. STATUS_UNREACHABLE: the hub can't be reached, or has closed.
enum status tap_stream_follow(const struct tap_stream *stream);
