// `patchbay publish`: publishes one event (HugAI v2 messages, 3.5). Success: a request prints how many subscribers got
// the event; a notification (--notify) prints nothing. Failure: the hub's error is one line on standard error (status
// 1), or the hub closes early (status 3).
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/base/text.h"
#include "tools/client.h"
#include "tools/commands.h"
#include "tools/input.h"
#include "tools/output.h"

struct event {
    const char *name;
    struct text data; // empty when not given
    struct text fields;
    bool notify;
};

static bool accept(const char *argument, const char *value, const char *fault) {
    if (fault != NULL) {
        fprintf(stderr, "patchbay: publish: %s '%s': %s\n", argument, value, fault);
    }
    return fault == NULL;
}

static enum status read_arguments(struct event *event, int argc, char **argv) {
    static const struct option options[] = {
        {"header", required_argument, NULL, 'h'}, {"notify", no_argument, NULL, 'n'}, {0}};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == '?') {
            return usage("publish");
        }
        event->notify |= option == 'n';
        if (option == 'h' && !accept("--header", optarg, input_field(&event->fields, optarg))) {
            return STATUS_USAGE;
        }
    }
    int given = argc - optind;
    if (given < 1 || given > 2) {
        return usage("publish");
    }
    event->name = argv[optind];
    const char *fault = input_is_text(event->name) ? NULL : "it must be UTF-8";
    bool good = accept("EVENT", event->name, fault) &&
                (given == 1 || accept("DATA", argv[optind + 1], input_json(&event->data, argv[optind + 1])));
    return good ? STATUS_DONE : STATUS_USAGE;
}

static void write_params(struct text *params, const struct event *event) {
    text_put(params, "{\"event\":");
    text_string(params, event->name, strlen(event->name));
    if (event->data.length > 0) {
        text_put(params, ",\"data\":");
        text_add(params, event->data.bytes, event->data.length);
    }
    text_add(params, "}", 2); // with its terminating zero
}

static void print_delivered(const struct client_answer *answer) {
    struct json_item count = json_member(answer->body.bytes, answer->value, "delivered");
    struct span shown = count.type == JSON_NUMBER ? count.value : answer->value;
    output_line(stdout, answer->body.bytes + shown.at, shown.bytes);
}

// Sends the event and waits until the hub has handled it. Returns 1 with *answer, 0 for a notification that wasn't
// refused, or -errno.
static int send_event(struct client *client, const struct event *event, struct client_answer *answer) {
    struct text params = {0};
    write_params(&params, event);
    int error = params.failed   ? -ENOMEM
                : event->notify ? client_notify(client, "event", params.bytes, event->fields.bytes)
                                : client_request(client, "event", params.bytes, event->fields.bytes);
    text_deinit(&params);
    if (error < 0) {
        return error;
    }
    if (event->notify) {
        return client_finish(client, answer);
    }
    error = client_answer(client, answer);
    return error < 0 ? error : 1;
}

static enum status publish(const struct event *event, const char *hub) {
    struct client client;
    int error = client_open(&client, hub);
    if (error < 0) {
        return unreachable(hub, error);
    }
    struct client_answer answer = {0};
    enum status status = STATUS_DONE;
    int result = send_event(&client, event, &answer);
    if (result < 0) {
        status = unreachable(hub, result);
    } else if (answer.refused) {
        output_line(stderr, answer.body.bytes + answer.value.at, answer.value.bytes);
        status = STATUS_REFUSED;
    } else if (result > 0) {
        print_delivered(&answer);
    }
    client_close(&client);
    return status;
}

enum status command_publish(int argc, char **argv, const char *hub) {
    struct event event = {0};
    enum status status = read_arguments(&event, argc, argv);
    if (status == STATUS_DONE && event.fields.length > 0 && !client_takes_fields(hub)) {
        status = no_fields("publish", hub);
    }
    if (status == STATUS_DONE) {
        status = publish(&event, hub);
    }
    text_deinit(&event.data);
    text_deinit(&event.fields);
    return status;
}
