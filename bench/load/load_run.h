// A whole run of the load generator: settings in, figures out.
#pragma once

#include <sys/types.h>

#include "bench/load/load.h"
#include "bench/load/load_server.h"

enum { LOAD_SERVERS_MAX = 8 };

// The processes whose costs are measured, summed up: one server, or several that serve the load together.
struct load_servers {
    uint32_t count; // 0: nobody's costs are
    pid_t pids[LOAD_SERVERS_MAX];
};

struct load_settings {
    struct load_plan plan;
    double warmup_seconds, seconds;
    struct load_servers servers;
};

struct load_result {
    struct histogram latency[LOAD_CLASSES]; // ns, of what ended in the measured stretch
    uint64_t elapsed_ns;
    uint64_t own_cpu_ns; // of the load generator
    bool cpu_known;
    uint64_t cpu_ns;
    bool program_cpu_known; // of targets that are programs, together
    uint64_t program_cpu_ns;
    bool memory_known;
    struct server_memory memory; // at the end of the measured stretch
    bool idle_known;
    double idle_bytes;             // of anonymous memory, for each connection that idles
    bool work_known;               // not of several
    struct server_work work;       // a hub's, in about the measured stretch
    uint64_t wrong, lost, missing; // over the whole run
    const char *fault;             // why it ended early; NULL if it didn't
};

// Opens the connections, runs warm-up, measured stretch and drain, and closes them. 0; as load_open when the
// connections could not be made, with *why set to static text when there is more to say than the errno.
int load_measure(const struct load_settings *settings, struct load_result *result, const char **why);
