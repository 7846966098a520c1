// Plays a recording at a hub: each source is a connection that sends the source's messages. Targets may be played, too.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bench/load/load_histogram.h"
#include "tools/recording.h"
#include "tools/usage.h"

struct replay_plan {
    const struct recording *recording;
    const char *hub;
    double speed; // a factor; 0: as fast as answers come
    bool serve;   // the targets are played
};

struct replay_figures {
    uint64_t requests, answers, errors; // errors count as answers, too
    struct histogram latency;           // in ns, from the time at which a request was due
};

// Plays all messages and waits for the answers. Returns STATUS_DONE if all requests were answered; STATUS_REFUSED if
// some weren't, or the hub refused a target; STATUS_UNREACHABLE if there is no hub. A refused target and a missing hub
// are one line on standard error.
enum status replay_run(const struct replay_plan *plan, struct replay_figures *figures);
