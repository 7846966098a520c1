// The arguments of `patchbay bench` and its report.
// It goes well: status 0 and figures on standard output. It fails: see bench.c.
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/load/run.h"
#include "tools/client.h"
#include "tools/commands.h"

enum { CONNECTIONS_MAX = 100000, DEPTH_MAX = 1 << 20, BODY_BYTES_MAX = 1 << 29, SECONDS_MAX = 86400 };

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

static bool read_option(int option, struct load_settings *settings, bool *json) {
    uint32_t pid;
    switch (option) {
    case 'i':
        settings->plan.body.id_last = true;
        return true;
    case 'j':
        *json = true;
        return true;
    case 'I':
        settings->plan.plain_inbox = true;
        return true;
    case 'n':
        settings->plan.wire = &load_wire_nats;
        settings->plan.at = optarg;
        return true;
    case 'p':
        if (!read_count(optarg, INT32_MAX, &pid)) {
            return false;
        }
        settings->hub_pid = (pid_t)pid;
        return true;
    case 'w':
        return read_seconds(optarg, &settings->warmup_seconds);
    default:
        return false;
    }
}

static bool read_arguments(int argc, char **argv, struct load_settings *settings, bool *json) {
    static const struct option options[] = {{"id-last", no_argument, NULL, 'i'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"plain-inbox", no_argument, NULL, 'I'},
                                            {"nats", required_argument, NULL, 'n'},
                                            {"hub-pid", required_argument, NULL, 'p'},
                                            {"warmup", required_argument, NULL, 'w'},
                                            {0}};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (!read_option(option, settings, json)) {
            return false;
        }
    }
    char **given = argv + optind;
    return argc - optind == 5 && read_count(given[0], CONNECTIONS_MAX, &settings->plan.sources) &&
           read_count(given[1], CONNECTIONS_MAX, &settings->plan.targets) &&
           read_count(given[2], DEPTH_MAX, &settings->plan.depth) &&
           read_count(given[3], BODY_BYTES_MAX, &settings->plan.body.bytes) &&
           read_seconds(given[4], &settings->seconds) && settings->seconds > 0;
}

static double latency_us(const struct load_result *result, double share) {
    return (double)histogram_at(&result->latency, share) / 1e3;
}

static double hub_us(const struct load_result *result) {
    return (double)result->hub_cpu_ns / 1e3 / (double)result->latency.total;
}

static double rate(const struct load_result *result) {
    return (double)result->latency.total / ((double)result->elapsed_ns / 1e9);
}

// How much of one processor the load generator used: near 100 %, it and not the hub was the limit.
static double own_percent(const struct load_result *result) {
    return 100.0 * (double)result->own_cpu_ns / (double)result->elapsed_ns;
}

static void print_figures(const struct load_settings *settings, const struct load_result *result) {
    printf("requests/s          %.0f\n", rate(result));
    printf("latency p50         %.1f us\n", latency_us(result, 0.50));
    printf("latency p90         %.1f us\n", latency_us(result, 0.90));
    printf("latency p99         %.1f us\n", latency_us(result, 0.99));
    printf("latency p99.9       %.1f us\n", latency_us(result, 0.999));
    printf("latency max         %.1f us\n", (double)result->latency.max / 1e3);
    if (result->hub_cpu_known && result->latency.total > 0) {
        printf("hub CPU             %.3f us a request and response (process %d)\n", hub_us(result),
               (int)settings->hub_pid);
    } else {
        printf("hub CPU             unknown (--hub-pid)\n");
    }
    printf("load generator CPU  %.0f %% of one processor\n", own_percent(result));
    printf("answers             %llu, wrong %llu, missing %llu\n", (unsigned long long)result->latency.total,
           (unsigned long long)result->wrong, (unsigned long long)result->missing);
}

static void print_json(const struct load_settings *settings, const struct load_result *result) {
    const struct load_plan *plan = &settings->plan;
    printf("{\"protocol\":\"%s\",\"sources\":%u,\"targets\":%u,\"depth\":%u,\"bodyBytes\":%u,\"idLast\":%s,"
           "\"seconds\":%.3f,\"answers\":%llu,\"requestsPerSecond\":%.0f,",
           plan->wire == &load_wire_nats ? "nats" : "patchbay", plan->sources, plan->targets, plan->depth,
           plan->body.bytes, plan->body.id_last ? "true" : "false", (double)result->elapsed_ns / 1e9,
           (unsigned long long)result->latency.total, rate(result));
    printf("\"latencyUs\":{\"p50\":%.1f,\"p90\":%.1f,\"p99\":%.1f,\"p99.9\":%.1f,\"max\":%.1f},",
           latency_us(result, 0.50), latency_us(result, 0.90), latency_us(result, 0.99),
           latency_us(result, 0.999), (double)result->latency.max / 1e3);
    if (result->hub_cpu_known && result->latency.total > 0) {
        printf("\"hubCpuUs\":%.4f,", hub_us(result));
    } else {
        printf("\"hubCpuUs\":null,");
    }
    printf("\"generatorCpuPercent\":%.0f,\"wrong\":%llu,\"missing\":%llu}\n", own_percent(result),
           (unsigned long long)result->wrong, (unsigned long long)result->missing);
}

enum status command_bench(int argc, char **argv, const char *hub) {
    struct load_settings settings = {.plan = {.wire = &load_wire_patchbay, .at = hub}, .warmup_seconds = 1};
    bool json = false;
    if (!read_arguments(argc, argv, &settings, &json)) {
        return usage("bench");
    }
    if (settings.hub_pid == 0 && settings.plan.wire == &load_wire_patchbay) {
        settings.hub_pid = load_hub_pid(hub);
    }
    static struct load_result result; // its histogram is large for a stack
    int error = load_measure(&settings, &result);
    if (error < 0) {
        return unreachable(settings.plan.at, error);
    }
    (json ? print_json : print_figures)(&settings, &result);
    if (result.fault != NULL) {
        fprintf(stderr, "bench: ended early: %s\n", result.fault);
    }
    if (result.wrong > 0 || result.missing > 0) {
        fprintf(stderr, "bench: %llu answers wrong, %llu missing\n", (unsigned long long)result.wrong,
                (unsigned long long)result.missing);
    }
    bool good = result.fault == NULL && result.wrong == 0 && result.missing == 0 && result.latency.total > 0;
    return good ? STATUS_DONE : STATUS_REFUSED;
}
