// `patchbay bench`: reads the arguments and runs the load generator. Success: a load on a hub or on a peer of it, every
// message checked, and a report (tools/bench_report.c). Failure: a server that can't be reached is status 3. A wrong,
// lost or missing message, or a broken connection, is status 1, with the figures up to then.
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench_report.h"
#include "tools/client.h"
#include "tools/commands.h"

enum {
    CONNECTIONS_MAX = 100000,
    DEPTH_MAX = 1 << 20,
    BODY_BYTES_MAX = 1 << 29,
    SECONDS_MAX = 86400,
    RATE_MAX = 1000000000,
};

static bool read_count(const char *text, uint32_t max, uint32_t *out) {
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    *out = (uint32_t)number;
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && number >= 1 && number <= max;
}

static bool read_seconds(const char *text, double *out) {
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*out) && *out >= 0 && *out <= SECONDS_MAX;
}

// Reads PROTOCOL=ADDRESS.
static bool read_peer(char *text, struct load_plan *plan) {
    char *equals = strchr(text, '=');
    if (equals == NULL) {
        return false;
    }
    *equals = '\0';
    plan->wire = load_wire_named(text);
    plan->at = equals + 1;
    return plan->wire != NULL;
}

static bool read_server(const char *text, struct load_servers *servers) {
    uint32_t number;
    if (servers->count == LOAD_SERVERS_MAX || !read_count(text, INT32_MAX, &number)) {
        return false;
    }
    servers->pids[servers->count++] = (pid_t)number;
    return true;
}

static const struct option options[] = {
    {"events", no_argument, NULL, 'e'},        {"high", required_argument, NULL, 'h'},
    {"hub-pid", required_argument, NULL, 'p'}, {"id-last", no_argument, NULL, 'i'},
    {"idle", required_argument, NULL, 'd'},    {"in-flight", required_argument, NULL, 'f'},
    {"json", no_argument, NULL, 'j'},          {"peer", required_argument, NULL, 'P'},
    {"program", required_argument, NULL, 'g'}, {"plain-inbox", no_argument, NULL, 'I'},
    {"rate", required_argument, NULL, 'r'},    {"slow", required_argument, NULL, 's'},
    {"sources", required_argument, NULL, 'S'}, {"trickle", no_argument, NULL, 't'},
    {"warmup", required_argument, NULL, 'w'},  {0}};

static bool read_flag(int option, struct load_plan *plan, bool *json) {
    switch (option) {
    case 'e':
        plan->events = true;
        return true;
    case 'i':
        plan->body.id_last = true;
        return true;
    case 'I':
        plan->plain_inbox = true;
        return true;
    case 'j':
        *json = true;
        return true;
    case 't':
        plan->trickle = true;
        return true;
    default:
        return false;
    }
}

static bool read_value(int option, struct load_settings *settings) {
    struct load_plan *plan = &settings->plan;
    uint32_t number = 0;
    bool good;
    switch (option) {
    case 'd':
        return read_count(optarg, CONNECTIONS_MAX, &plan->idle);
    case 'f':
        return read_count(optarg, DEPTH_MAX, &plan->in_flight);
    case 'g':
        plan->program = optarg;
        return true;
    case 'h':
        plan->body.priorities = true;
        return read_count(optarg, 100, &plan->high_percent);
    case 'p':
        return read_server(optarg, &settings->servers);
    case 'P':
        return read_peer(optarg, plan);
    case 'r':
        good = read_count(optarg, RATE_MAX, &number);
        plan->rate = number;
        return good;
    case 's':
        return read_count(optarg, CONNECTIONS_MAX, &plan->slow);
    case 'S':
        plan->source_at = optarg;
        return true;
    case 'w':
        return read_seconds(optarg, &settings->warmup_seconds);
    default:
        return false;
    }
}

static bool read_arguments(int argc, char **argv, struct load_settings *settings, bool *json) {
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (!read_flag(option, &settings->plan, json) && !read_value(option, settings)) {
            return false;
        }
    }
    char **given = argv + optind;
    struct load_plan *plan = &settings->plan;
    return argc - optind == 5 && read_count(given[0], CONNECTIONS_MAX, &plan->sources) &&
           read_count(given[1], CONNECTIONS_MAX, &plan->targets) &&
           read_count(given[2], DEPTH_MAX, &plan->depth) &&
           read_count(given[3], BODY_BYTES_MAX, &plan->body.bytes) &&
           read_seconds(given[4], &settings->seconds) && settings->seconds > 0 &&
           !(plan->events && plan->sources != 1) && !(plan->in_flight > 0 && plan->rate > 0);
}

static bool has_scheme(const char *uri, const char *scheme) {
    return strncmp(uri, scheme, strlen(scheme)) == 0;
}

// Returns the wire of the load's sources at this hub. If the hub can't be reached, the first connection finds so.
static const struct load_wire *source_wire(const char *hub, bool events) {
    if (has_scheme(hub, "ws://") || has_scheme(hub, "http://")) {
        return has_scheme(hub, "ws") || events ? &load_wire_websocket : &load_wire_rpc;
    }
    return client_wire(hub) == &wire_lines ? &load_wire_lines : &load_wire_patchbay;
}

// Returns the wire of the load's targets. Over HTTP targets receive events as a stream, and requests over WebSocket.
static const struct load_wire *target_wire(const char *hub, bool events) {
    if (has_scheme(hub, "http://")) {
        return events ? &load_wire_sse : &load_wire_websocket;
    }
    return source_wire(hub, events);
}

// Sets the wires of the load, unless the plan has a peer's wire already.
static void choose_wires(struct load_plan *plan, const char *hub) {
    if (plan->wire == NULL) {
        plan->at = hub;
        plan->wire = target_wire(hub, plan->events);
        plan->source_wire = source_wire(plan->source_at != NULL ? plan->source_at : hub, plan->events);
    }
}

enum status command_bench(int argc, char **argv, const char *hub) {
    struct load_settings settings = {.warmup_seconds = 1};
    bool json = false;
    if (!read_arguments(argc, argv, &settings, &json)) {
        return usage("bench");
    }
    choose_wires(&settings.plan, hub);
    if (settings.servers.count == 0 && settings.plan.wire->is_hub) {
        settings.servers.pids[0] = server_pid(settings.plan.at);
        settings.servers.count = settings.servers.pids[0] > 0;
    }
    static struct load_result result; // static, as its histograms are large for a stack
    const char *why = NULL;
    int error = load_measure(&settings, &result, &why);
    if (error < 0 && why != NULL) {
        fprintf(stderr, "patchbay: %s\n", why);
        return STATUS_REFUSED;
    }
    if (error < 0) {
        return unreachable(settings.plan.at, error);
    }
    (json ? bench_report_json : bench_report)(&settings, &result);
    return bench_report_faults(&result) ? STATUS_DONE : STATUS_REFUSED;
}
