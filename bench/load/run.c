// `patchbay bench`: a closed loop of requests through a hub (or a NATS server), every answer checked, and
// what it cost. It goes well: warm-up, measured stretch, drain; then one report. It fails: a hub that can't
// be reached is status 3; a wrong or missing answer or a broken connection is status 1, with the numbers
// measured up to then.
#include "bench/load/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include "bench/load/cpu.h"
#include "tools/client.h"

enum { DRAIN_SECONDS = 5 };

static uint64_t own_cpu_ns(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000U + (uint64_t)used.tv_nsec;
}

// A hub's process: who listens at the other end of a Unix socket, else the `pid` that its statistics tell.
pid_t load_hub_pid(const char *hub) {
    struct client client;
    if (client_open(&client, hub) < 0) {
        return 0;
    }
    struct ucred peer = {0};
    socklen_t bytes = sizeof peer;
    struct client_answer answer;
    uint64_t pid = 0;
    if (getsockopt(client.socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.pid > 0) {
        pid = (uint64_t)peer.pid;
    } else if (client_call(&client, "hub/stats", NULL, &answer) == 0 && !answer.refused) {
        struct json_item found = json_member(answer.body.bytes, answer.value, "pid");
        if (found.type != JSON_NUMBER || !json_number_whole(answer.body.bytes, found.value, &pid)) {
            pid = 0;
        }
    }
    client_close(&client);
    return pid <= INT32_MAX ? (pid_t)pid : 0;
}

static void measure(struct load *load, const struct load_settings *settings, struct load_result *result) {
    load_start(load);
    load_run(load, load_now_ns() + (uint64_t)(settings->warmup_seconds * 1e9));
    load->recording = true;
    uint64_t hub_before_ns = 0, hub_after_ns = 0;
    result->hub_cpu_known = settings->hub_pid > 0 && cpu_of_process(settings->hub_pid, &hub_before_ns) == 0;
    uint64_t own_before_ns = own_cpu_ns(), before_ns = load_now_ns();
    load_run(load, before_ns + (uint64_t)(settings->seconds * 1e9));
    result->elapsed_ns = load_now_ns() - before_ns;
    result->own_cpu_ns = own_cpu_ns() - own_before_ns;
    if (result->hub_cpu_known) {
        result->hub_cpu_known = cpu_of_process(settings->hub_pid, &hub_after_ns) == 0;
        result->hub_cpu_ns = hub_after_ns - hub_before_ns;
    }
    load->recording = false;
    load_stop(load);
    load_run(load, load_now_ns() + DRAIN_SECONDS * 1000000000ULL);
}

// Many sources want more descriptors than a shell usually allows at first.
static void raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int load_measure(const struct load_settings *settings, struct load_result *result) {
    struct load *load = calloc(1, sizeof *load); // the histogram makes it large for a stack
    if (load == NULL) {
        return -ENOMEM;
    }
    raise_descriptor_limit();
    int error = load_open(load, &settings->plan);
    if (error == 0) {
        measure(load, settings, result);
        result->latency = load->latency;
        result->wrong = load->wrong;
        result->missing = load->pending;
        result->fault = load->fault;
    }
    load_close(load);
    free(load);
    return error;
}
