// `patchbay events`: subscribes to events (HugAI v2 messages, 3.5) and prints the params of each event on one line, as
// they came. Success: the command ends with status 0 at an interrupt, or when --count events are printed. Failure: the
// hub refuses the patterns (status 1), or closes (status 3). Events that this program was too slow for are told on
// standard error, by number.
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/base/text.h"
#include "tools/client.h"
#include "tools/client_signals.h"
#include "tools/commands.h"
#include "tools/input.h"
#include "tools/output.h"

struct events {
    struct client client;
    const char *hub;
    struct text params;  // of hub/subscribe
    uint64_t count_left; // 0: no end
    bool ended;
    enum status status; // once ended
};

static void end(struct events *events, enum status status) {
    events->ended = true;
    events->status = status;
}

// --- Messages of the hub

static void take_answer(struct events *events, const struct client_answer *answer) {
    if (answer->refused) {
        end(events, STATUS_REFUSED);
    } else {
        fprintf(stderr, "events: subscribed at %s: ", events->hub);
    }
    output_line(stderr, answer->body.bytes + answer->value.at, answer->value.bytes);
}

static void take_event(struct events *events, const uint8_t *body, struct span params) {
    output_line(stdout, body + params.at, params.bytes);
    bool last = events->count_left > 0 && --events->count_left == 0;
    if (fflush(stdout) != 0 || last) { // main reports a closed output
        end(events, STATUS_DONE);
    }
}

static void take_dropped(const uint8_t *body, struct span params) {
    struct json_item count = json_member(body, params, "count");
    fputs("events: the hub dropped as many for this reader: ", stderr);
    output_line(stderr, body + count.value.at, count.value.bytes);
}

static void take(struct events *events, const struct client_body *body) {
    struct client_answer answer;
    struct lookup found;
    if (client_answers(&events->client, body, &answer)) {
        take_answer(events, &answer);
        return;
    }
    lookup_body(&found, body->bytes, body->count, CLIENT_ID_BYTES_MAX);
    if (found.verdict != LOOKUP_GOOD || found.kind != BODY_NOTIFICATION || !lookup_has(&found, KEY_PARAMS)) {
        return;
    }
    if (json_string_is(body->bytes, found.value[KEY_METHOD], "event")) {
        take_event(events, body->bytes, found.value[KEY_PARAMS]);
    } else if (json_string_is(body->bytes, found.value[KEY_METHOD], "hub/dropped")) {
        take_dropped(body->bytes, found.value[KEY_PARAMS]);
    }
}

static void follow(struct events *events) {
    int error = client_request(&events->client, "hub/subscribe", events->params.bytes, NULL);
    while (error == 0 && !events->ended) {
        struct client_body body;
        int received = client_receive(&events->client, &body);
        if (received > 0) {
            take(events, &body);
        } else {
            error = received == 0 ? -ECONNRESET : received;
        }
    }
    if (error < 0) {
        end(events, error == -EINTR ? STATUS_DONE : unreachable(events->hub, error));
    }
}

// --- Arguments

static bool read_patterns(struct text *params, int count, char **patterns) {
    text_put(params, "{\"events\":[");
    for (int i = 0; i < count; i++) {
        text_put(params, i > 0 ? "," : "");
        text_string(params, patterns[i], strlen(patterns[i]));
        if (!input_is_text(patterns[i])) {
            return false;
        }
    }
    text_put(params, count > 0 ? "]}" : "\"*\"]}");
    text_add(params, "", 1);
    return !params->failed;
}

static bool read_arguments(struct events *events, int argc, char **argv) {
    static const struct option options[] = {{"count", required_argument, NULL, 'c'}, {0}};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option != 'c' || !units_count(optarg, &events->count_left) || events->count_left == 0) {
            return false;
        }
    }
    return read_patterns(&events->params, argc - optind, argv + optind);
}

static void open_and_follow(struct events *events) {
    int error = client_open(&events->client, events->hub);
    if (error < 0) {
        end(events, unreachable(events->hub, error));
        return;
    }
    events->client.signals = signals_open();
    if (events->client.signals < 0) {
        end(events, unreachable(events->hub, events->client.signals));
    } else {
        follow(events);
        signals_close(events->client.signals);
    }
    client_close(&events->client);
}

enum status command_events(int argc, char **argv, const char *hub) {
    struct events events = {.hub = hub};
    if (read_arguments(&events, argc, argv)) {
        open_and_follow(&events);
    } else {
        end(&events, usage("events"));
    }
    text_deinit(&events.params);
    return events.status;
}
