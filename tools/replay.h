// Plays a recording at a hub: each source is a connection that sends what it sent, and targets may be played, too.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bench/load/load_histogram.h"
#include "tools/recording.h"
#include "tools/usage.h"

struct replay_plan {
    const struct recording *recording;
    const char *hub;
    double speed; // so many times as fast; 0: as fast as answers come
    bool serve;   // the targets are played
};

struct replay_figures {
    uint64_t requests, answers, errors; // errors are answers, too
    struct histogram latency;           // in nanoseconds, from when a request was due
};

// Plays all of it and waits for the answers. Done: all requests were answered. Refused: not all were, or the hub refused a
// target, of which one line on standard error tells. Unreachable: no hub is there, of which one line tells.
enum status replay_run(const struct replay_plan *plan, struct replay_figures *figures);
