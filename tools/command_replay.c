// `patchbay replay`: plays a recording (command_record.c) at a hub, and compares the latency of its requests with the
// recorded latency. Success: status 0 when all requests were answered, even with errors. Failure: some requests weren't
// answered, an interrupt ended the replay, or the hub refused a target (status 1). The file is no recording (status 2,
// with FILE:LINE, before anything was sent). No hub is there (status 3).
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/commands.h"
#include "tools/recording.h"
#include "tools/replay.h"

enum { SPEED_MAX = 1000000 };

static bool read_speed(const char *text, double *speed) {
    char *end;
    if (strcmp(text, "max") == 0) {
        *speed = 0;
        return true;
    }
    *speed = strtod(text, &end);
    return *text >= '0' && *text <= '9' && text[strspn(text, "0123456789.")] == '\0' && *end == '\0' &&
           isfinite(*speed) && *speed > 0 && *speed <= SPEED_MAX;
}

static bool read_arguments(int argc, char **argv, struct replay_plan *plan, const char **path, bool *json) {
    static const struct option options[] = {{"speed", required_argument, NULL, 's'},
                                            {"serve", no_argument, NULL, 'e'},
                                            {"json", no_argument, NULL, 'j'},
                                            {0}};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'e') {
            plan->serve = true;
        } else if (option == 'j') {
            *json = true;
        } else if (option != 's' || !read_speed(optarg, &plan->speed)) {
            return false;
        }
    }
    *path = argv[optind];
    return optind + 1 == argc;
}

// Collects the recorded latency of the requests that were answered then.
static void read_latency(const struct recording *recording, struct histogram *latency) {
    *latency = (struct histogram){0};
    for (size_t index = 0; index < recording->count; index++) {
        const struct recorded_message *message = &recording->messages[index];
        if (message->has_ended && message->whole_us > 0) {
            histogram_record(latency, message->whole_us * 1000);
        }
    }
}

static void put_time(const struct histogram *latency, const char *name, double share, bool json) {
    double ms = (double)histogram_at(latency, share) / 1e6;
    if (latency->total == 0) {
        printf(json ? ",\"%s\":null" : ", %s unknown", name);
    } else {
        printf(json ? ",\"%s\":%.3f" : ", %s %.3f ms", name, ms);
    }
}

static void print_figures(const struct replay_figures *figures, const struct histogram *recorded, bool json) {
    printf(json ? "{\"requests\":%" PRIu64 ",\"answers\":%" PRIu64 ",\"errors\":%" PRIu64
                : "%" PRIu64 " requests, %" PRIu64 " answers, %" PRIu64 " of them errors",
           figures->requests, figures->answers, figures->errors);
    put_time(&figures->latency, json ? "p50Ms" : "p50", 0.5, json);
    put_time(&figures->latency, json ? "p99Ms" : "p99", 0.99, json);
    put_time(recorded, json ? "recordedP50Ms" : "recorded p50", 0.5, json);
    put_time(recorded, json ? "recordedP99Ms" : "p99", 0.99, json);
    puts(json ? "}" : "");
}

enum status command_replay(int argc, char **argv, const char *hub) {
    static struct replay_figures figures;
    static struct histogram recorded;
    struct recording recording;
    struct replay_plan plan = {.recording = &recording, .hub = hub, .speed = 1};
    const char *path = NULL;
    bool json = false;
    if (!read_arguments(argc, argv, &plan, &path, &json)) {
        return usage("replay");
    }
    enum status status = STATUS_USAGE;
    if (recording_read(&recording, path)) {
        read_latency(&recording, &recorded);
        status = replay_run(&plan, &figures);
        if (status == STATUS_DONE || figures.answers > 0) {
            print_figures(&figures, &recorded, json);
        }
    }
    recording_deinit(&recording);
    return status;
}
