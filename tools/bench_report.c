#include "tools/bench_report.h"

#include <stdio.h>

// Returns how many requests were answered, or how many events came to subscribers.
static uint64_t messages(const struct load_result *result) {
    return result->latency[LOAD_ORDINARY].total + result->latency[LOAD_HIGH].total;
}

static double rate(const struct load_result *result) {
    return (double)messages(result) / ((double)result->elapsed_ns / 1e9);
}

static double cpu_us(const struct load_result *result) {
    return (double)result->cpu_ns / 1e3 / (double)messages(result);
}

// Returns the load generator's own share of one processor, in percent. Near 100 % the generator was the limit, not the
// server.
static double own_percent(const struct load_result *result) {
    return 100.0 * (double)result->own_cpu_ns / (double)result->elapsed_ns;
}

// Returns the hub's entries into the kernel for each message. The hub's counters are read a little outside of the
// measured time, so the entries are divided by the hub's own count of frames. A request and its response are two
// frames. An event is one frame, which then goes to all subscribers.
static double entries(const struct load_settings *settings, const struct load_result *result) {
    double a_frame =
        (double)result->work.kernel_entries / (double)(result->work.frames + !result->work.frames);
    return settings->plan.events ? a_frame / settings->plan.targets : a_frame * 2;
}

static bool entries_known(const struct load_result *result) {
    return result->work_known && result->work.frames > 0;
}

static bool cpu_known(const struct load_result *result) {
    return result->cpu_known && messages(result) > 0;
}

static bool program_cpu_known(const struct load_result *result) {
    return result->program_cpu_known && messages(result) > 0;
}

static double program_cpu_us(const struct load_result *result) {
    return (double)result->program_cpu_ns / 1e3 / (double)messages(result);
}

static const struct {
    const char *name;
    double share;
} shares[] = {{"p50", 0.50}, {"p90", 0.90}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1}};

enum { SHARES = sizeof shares / sizeof shares[0] };

static double latency_us(const struct histogram *latency, int share) {
    return (double)histogram_at(latency, shares[share].share) / 1e3;
}

static void print_latency(const struct histogram *latency, const char *name) {
    for (int share = 0; share < SHARES && latency->total > 0; share++) {
        printf("%s %-6s %.1f us\n", name, shares[share].name, latency_us(latency, share));
    }
}

void bench_report(const struct load_settings *settings, const struct load_result *result) {
    const char *what = settings->plan.events ? "a delivery" : "a request and response";
    printf("%s %.0f\n", settings->plan.events ? "deliveries/s        " : "requests/s          ",
           rate(result));
    print_latency(&result->latency[LOAD_ORDINARY], "latency");
    print_latency(&result->latency[LOAD_HIGH], "latency, high priority,");
    if (cpu_known(result)) {
        const struct load_servers *servers = &settings->servers;
        printf("server CPU           %.3f us %s (process", cpu_us(result), what);
        for (uint32_t n = 0; n < servers->count; n++) {
            printf("%s%d", n > 0 ? " and " : " ", (int)servers->pids[n]);
        }
        printf(")\n");
    } else {
        printf("server CPU           unknown (--hub-pid)\n");
    }
    if (program_cpu_known(result)) {
        printf("target CPU           %.3f us %s (programs)\n", program_cpu_us(result), what);
    }
    if (entries_known(result)) {
        printf("kernel entries       %.5f %s\n", entries(settings, result), what);
    }
    if (result->memory_known) {
        printf("resident memory      %.1f MiB\n", (double)result->memory.resident_bytes / 1048576);
    }
    if (result->idle_known) {
        printf("idle connection      %.0f bytes\n", result->idle_bytes);
    }
    printf("load generator CPU   %.0f %% of one processor\n", own_percent(result));
    printf("messages             %llu, wrong %llu, lost %llu, missing %llu\n",
           (unsigned long long)messages(result), (unsigned long long)result->wrong,
           (unsigned long long)result->lost, (unsigned long long)result->missing);
}

// --- For programs

static void json_latency(const char *name, const struct histogram *latency) {
    if (latency->total == 0) {
        printf("\"%s\":null,", name);
        return;
    }
    printf("\"%s\":{", name);
    for (int share = 0; share < SHARES; share++) {
        printf("%s\"%s\":%.1f", share > 0 ? "," : "", shares[share].name, latency_us(latency, share));
    }
    printf("},");
}

static void json_number(const char *name, bool known, double value) {
    if (known) {
        printf("\"%s\":%.6g,", name, value);
    } else {
        printf("\"%s\":null,", name);
    }
}

static void json_plan(const struct load_plan *plan) {
    printf("\"protocol\":\"%s\",\"exchange\":\"%s\",\"sources\":%u,\"targets\":%u,\"depth\":%u,"
           "\"inFlight\":%u,\"rate\":%.0f,\"bodyBytes\":%u,\"idLast\":%s,\"highPercent\":%u,\"idle\":%u,"
           "\"slow\":%u,\"trickle\":%s,",
           plan->wire->name, plan->events ? "events" : "requests", plan->sources, plan->targets, plan->depth,
           plan->in_flight, plan->rate, plan->body.bytes, plan->body.id_last ? "true" : "false",
           plan->high_percent, plan->idle, plan->slow, plan->trickle ? "true" : "false");
}

void bench_report_json(const struct load_settings *settings, const struct load_result *result) {
    printf("{");
    json_plan(&settings->plan);
    printf("\"seconds\":%.3f,\"messages\":%llu,\"messagesPerSecond\":%.2f,", (double)result->elapsed_ns / 1e9,
           (unsigned long long)messages(result), rate(result));
    json_latency("latencyUs", &result->latency[LOAD_ORDINARY]);
    json_latency("highLatencyUs", &result->latency[LOAD_HIGH]);
    json_number("cpuUs", cpu_known(result), cpu_known(result) ? cpu_us(result) : 0);
    json_number("programCpuUs", program_cpu_known(result),
                program_cpu_known(result) ? program_cpu_us(result) : 0);
    json_number("kernelEntries", entries_known(result), entries(settings, result));
    json_number("residentBytes", result->memory_known, (double)result->memory.resident_bytes);
    json_number("anonymousBytes", result->memory_known, (double)result->memory.anonymous_bytes);
    json_number("idleBytes", result->idle_known, result->idle_bytes);
    printf("\"generatorCpuPercent\":%.0f,\"wrong\":%llu,\"lost\":%llu,\"missing\":%llu}\n",
           own_percent(result), (unsigned long long)result->wrong, (unsigned long long)result->lost,
           (unsigned long long)result->missing);
}

bool bench_report_faults(const struct load_result *result) {
    if (result->fault != NULL) {
        fprintf(stderr, "bench: ended early: %s\n", result->fault);
    }
    if (result->wrong > 0 || result->lost > 0 || result->missing > 0) {
        fprintf(stderr, "bench: %llu messages wrong, %llu lost, %llu missing\n",
                (unsigned long long)result->wrong, (unsigned long long)result->lost,
                (unsigned long long)result->missing);
    }
    return result->fault == NULL && result->wrong == 0 && result->lost == 0 && result->missing == 0 &&
           messages(result) > 0;
}
