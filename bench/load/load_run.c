// See load_run.h. Success: warm-up, measured stretch, drain; then one result. Failure: what can't be told of
// the server is left unknown; a fault ends the stretch early, and the result says so.
#include "bench/load/load_run.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include "bench/load/load_cpu.h"

enum { DRAIN_SECONDS = 5 };

static uint64_t own_cpu_ns(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000U + (uint64_t)used.tv_nsec;
}

// Readings at both ends of the measured stretch.
struct sample {
    bool cpu_known, program_cpu_known, work_known;
    uint64_t cpu_ns, program_cpu_ns, own_cpu_ns, at_ns;
    struct server_work work;
};

// The server's statistics are asked for outside of the stretch whose time counts.
static void sample_work(struct sample *sample, struct client *hub) {
    sample->work_known = hub != NULL && server_work(hub, &sample->work) == 0;
}

static void sample_cpu(struct sample *sample, const struct load_servers *servers) {
    sample->cpu_known = servers->count > 0;
    for (uint32_t n = 0; n < servers->count; n++) {
        uint64_t used_ns = 0;
        sample->cpu_known = sample->cpu_known && cpu_of_process(servers->pids[n], &used_ns) == 0;
        sample->cpu_ns += used_ns;
    }
    sample->own_cpu_ns = own_cpu_ns();
    sample->at_ns = load_now_ns();
}

static void sample_programs(struct sample *sample, const struct load *load) {
    sample->program_cpu_known = load->plan.program != NULL;
    for (uint32_t n = 0; n < load->plan.targets && sample->program_cpu_known; n++) {
        uint64_t used_ns = 0;
        sample->program_cpu_known = cpu_of_process(load->table[n].program, &used_ns) == 0;
        sample->program_cpu_ns += used_ns;
    }
}

static void subtract(struct load_result *result, const struct sample *before, const struct sample *after) {
    result->elapsed_ns = after->at_ns - before->at_ns;
    result->own_cpu_ns = after->own_cpu_ns - before->own_cpu_ns;
    result->cpu_known = before->cpu_known && after->cpu_known;
    result->cpu_ns = after->cpu_ns - before->cpu_ns;
    result->program_cpu_known = before->program_cpu_known && after->program_cpu_known;
    result->program_cpu_ns = after->program_cpu_ns - before->program_cpu_ns;
    result->work_known = before->work_known && after->work_known;
    result->work.kernel_entries = after->work.kernel_entries - before->work.kernel_entries;
    result->work.frames = after->work.frames - before->work.frames;
}

static bool sum_memory(const struct load_servers *servers, struct server_memory *sum) {
    *sum = (struct server_memory){0};
    for (uint32_t n = 0; n < servers->count; n++) {
        struct server_memory one;
        if (server_memory(servers->pids[n], &one) != 0) {
            return false;
        }
        sum->resident_bytes += one.resident_bytes;
        sum->anonymous_bytes += one.anonymous_bytes;
    }
    return servers->count > 0;
}

static void run(struct load *load, const struct load_settings *settings, struct client *hub,
                struct load_result *result) {
    struct sample before = {0}, after = {0};
    load_start(load);
    load_run(load, load_now_ns() + (uint64_t)(settings->warmup_seconds * 1e9));
    sample_work(&before, hub);
    load->recording = true;
    sample_programs(&before, load);
    sample_cpu(&before, &settings->servers);
    load_run(load, before.at_ns + (uint64_t)(settings->seconds * 1e9));
    sample_cpu(&after, &settings->servers);
    sample_programs(&after, load);
    load->recording = false;
    sample_work(&after, hub);
    subtract(result, &before, &after);
    result->memory_known = sum_memory(&settings->servers, &result->memory);
    load_stop(load);
    load_run(load, load_now_ns() + DRAIN_SECONDS * 1000000000ULL);
}

// Opens the idle connections, and tells what each costs the server.
static int open_others(struct load *load, const struct load_settings *settings, struct load_result *result) {
    struct server_memory before, after;
    bool known = settings->plan.idle > 0 && sum_memory(&settings->servers, &before);
    int error = load_open_others(load);
    if (error == 0 && known && sum_memory(&settings->servers, &after)) {
        result->idle_known = true;
        result->idle_bytes =
            ((double)after.anonymous_bytes - (double)before.anonymous_bytes) / settings->plan.idle;
    }
    return error;
}

// One hub's own counters say nothing of what several do.
static void run_beside_hub(struct load *load, const struct load_settings *settings,
                           struct load_result *result) {
    struct client client;
    bool asks = settings->plan.wire->is_hub && settings->servers.count < 2 &&
                client_open(&client, settings->plan.at) == 0;
    run(load, settings, asks ? &client : NULL, result);
    if (asks) {
        client_close(&client);
    }
}

// Many connections want more descriptors than a shell usually allows at first; an open loop wants timers that
// come in time.
static void prepare_process(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    prctl(PR_SET_TIMERSLACK, 1UL);
}

int load_measure(const struct load_settings *settings, struct load_result *result, const char **why) {
    struct load *load = calloc(1, sizeof *load); // the histograms make it large for a stack
    if (load == NULL) {
        return -ENOMEM;
    }
    prepare_process();
    int error = load_open(load, &settings->plan, why);
    if (error == 0) {
        error = open_others(load, settings, result);
    }
    if (error == 0) {
        run_beside_hub(load, settings, result);
        for (int class = 0; class < LOAD_CLASSES; class ++) {
            result->latency[class] = load->latency[class];
        }
        result->wrong = load->wrong;
        result->lost = load->lost;
        result->missing = load->pending;
        result->fault = load->fault;
    }
    load_close(load);
    free(load);
    return error;
}
