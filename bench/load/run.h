// A whole run of the load generator: settings in, figures out.
#pragma once

#include <sys/types.h>

#include "bench/load/load.h"

struct load_settings {
    struct load_plan plan;
    double warmup_seconds, seconds;
    pid_t hub_pid; // whose CPU time is measured; 0: nobody's
};

struct load_result {
    struct histogram latency; // ns, of the answers in the measured stretch
    uint64_t elapsed_ns;
    uint64_t own_cpu_ns; // of the load generator
    bool hub_cpu_known;
    uint64_t hub_cpu_ns;
    uint64_t wrong, missing; // over the whole run
    const char *fault;       // why it ended early; NULL if it didn't
};

// Runs warm-up, measured stretch and drain. 0; -errno or -EPROTO when the connections could not be made.
int load_measure(const struct load_settings *settings, struct load_result *result);
// The process that serves `hub`; 0 when that can't be told.
pid_t load_hub_pid(const char *hub);
