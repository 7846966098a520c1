// `patchbay send`: sends one request to an agent (HugAI v2 messages, 3.3) and prints the answer as it came. Success:
// the result is one line on standard output. An interrupt cancels the request, and the command still waits for its end;
// a second interrupt ends the program. Failure: the error is one line on standard error (status 1), or there is no
// answer (status 3).
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/text.h"
#include "tools/client.h"
#include "tools/client_signals.h"
#include "tools/commands.h"
#include "tools/input.h"
#include "tools/output.h"

static const uint64_t ms_ns = 1000000, timeout_ms_max = 3600000;
// The hub ends a request at its timeout. The client waits this much longer for the hub, in ns.
static const uint64_t grace_ns = UINT64_C(2000000000);

struct task {
    const char *target, *name, *method;
    const char *source, *priority; // NULL when not given
    uint64_t timeout_ns;           // 0: the hub's own
    struct text context;           // empty when not given
    struct text fields;
};

static void task_deinit(struct task *task) {
    text_deinit(&task->context);
    text_deinit(&task->fields);
}

// --- Arguments

// Prints the fault of an option's value, if there is one. Returns whether there is none.
static bool accept(const char *option, const char *value, const char *fault) {
    if (fault != NULL) {
        fprintf(stderr, "patchbay: send: --%s '%s': %s\n", option, value, fault);
    }
    return fault == NULL;
}

static const char *read_timeout(struct task *task, const char *time) {
    char line[64];
    if (!units_time(time, &task->timeout_ns) || task->timeout_ns < ms_ns ||
        task->timeout_ns > timeout_ms_max * ms_ns) {
        return "it must be a time from 1ms to 1h, such as 250ms or 5s";
    }
    snprintf(line, sizeof line, "Custom-Timeout-Ms: %" PRIu64, task->timeout_ns / ms_ns);
    return input_field(&task->fields, line);
}

static const char *read_priority(struct task *task, const char *priority) {
    static const char *const known[] = {"low", "medium", "high", "critical"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i], priority) == 0) {
            task->priority = known[i];
            return NULL;
        }
    }
    return "it must be low, medium, high or critical";
}

static const char *read_text(const char **out, const char *argument) {
    *out = argument;
    return input_is_text(argument) ? NULL : "it must be UTF-8";
}

static const char *read_context(struct task *task, const char *argument) {
    text_deinit(&task->context); // the last --context counts
    return input_json(&task->context, argument);
}

static const char *read_option(struct task *task, int option, const char *value) {
    switch (option) {
    case 'c':
        return read_context(task, value);
    case 'h':
        return input_field(&task->fields, value);
    case 'm':
        return read_text(&task->method, value);
    case 'p':
        return read_priority(task, value);
    case 's':
        return read_text(&task->source, value);
    default:
        return read_timeout(task, value);
    }
}

static enum status read_arguments(struct task *task, int argc, char **argv) {
    static const struct option options[] = {{"context", required_argument, NULL, 'c'},
                                            {"header", required_argument, NULL, 'h'},
                                            {"method", required_argument, NULL, 'm'},
                                            {"priority", required_argument, NULL, 'p'},
                                            {"source", required_argument, NULL, 's'},
                                            {"timeout", required_argument, NULL, 't'},
                                            {0}};
    int option, index = 0;
    while ((option = getopt_long(argc, argv, "", options, &index)) != -1) {
        if (option == '?') {
            return usage("send");
        }
        if (!accept(options[index].name, optarg, read_option(task, option, optarg))) {
            return STATUS_USAGE;
        }
    }
    if (argc - optind != 2) {
        return usage("send");
    }
    task->target = argv[optind];
    task->name = argv[optind + 1];
    if (!input_is_text(task->target) || !input_is_text(task->name)) {
        fputs("patchbay: send: the arguments must be UTF-8\n", stderr);
        return STATUS_USAGE;
    }
    return STATUS_DONE;
}

// Refuses header fields, of which the timeout is one, for a hub without fields.
static enum status judge_fields(const struct text *fields, const char *hub) {
    return fields->length == 0 || client_takes_fields(hub) ? STATUS_DONE : no_fields("send", hub);
}

// --- The request

static void put_member(struct text *params, const char *name, const char *value) {
    if (value != NULL) {
        text_put(params, name);
        text_string(params, value, strlen(value));
    }
}

static void write_params(struct text *params, const struct task *task) {
    put_member(params, "{\"targetAgent\":", task->target);
    put_member(params, ",\"sourceAgent\":", task->source);
    put_member(params, ",\"task\":", task->name);
    put_member(params, ",\"priority\":", task->priority);
    if (task->context.length > 0) {
        text_put(params, ",\"context\":");
        text_add(params, task->context.bytes, task->context.length);
    }
    text_add(params, "}", 2); // with its terminating zero
}

static int send_request(struct client *client, const struct task *task) {
    struct text params = {0};
    write_params(&params, task);
    int error =
        params.failed ? -ENOMEM : client_request(client, task->method, params.bytes, task->fields.bytes);
    text_deinit(&params);
    return error;
}

// --- The end of the request

// Waits for the answer. The first interrupt cancels the request, and the next ones have their default effect.
static int wait_for_answer(struct client *client, struct client_answer *answer) {
    int error = client_answer(client, answer);
    if (error != -EINTR) {
        return error;
    }
    signals_take(client->signals);
    signals_default(client->signals);
    client->signals = -1;
    fputs("patchbay: send: cancelled; waiting for the answer (interrupt again to leave)\n", stderr);
    error = client_cancel(client);
    return error < 0 ? error : client_answer(client, answer);
}

static enum status ask(struct client *client, const struct task *task, const char *hub) {
    struct client_answer answer;
    if (task->timeout_ns > 0) {
        client_set_deadline(client, task->timeout_ns + grace_ns);
    }
    int error = send_request(client, task);
    if (error == -EINTR) {
        signals_default(client->signals); // no request to cancel yet: the signal ends the program
        client->signals = -1;
    } else if (error == 0) {
        error = wait_for_answer(client, &answer);
    }
    if (error < 0) {
        return unreachable(hub, error);
    }
    output_line(answer.refused ? stderr : stdout, answer.body.bytes + answer.value.at, answer.value.bytes);
    return answer.refused ? STATUS_REFUSED : STATUS_DONE;
}

static enum status open_and_ask(const struct task *task, const char *hub) {
    struct client client;
    int error = client_open(&client, hub);
    if (error < 0) {
        return unreachable(hub, error);
    }
    client.signals = signals_open();
    enum status status = client.signals < 0 ? unreachable(hub, client.signals) : ask(&client, task, hub);
    if (client.signals >= 0) {
        signals_close(client.signals);
    }
    client_close(&client);
    return status;
}

enum status command_send(int argc, char **argv, const char *hub) {
    struct task task = {.method = "agent/request"};
    enum status status = read_arguments(&task, argc, argv);
    if (status == STATUS_DONE) {
        status = judge_fields(&task.fields, hub);
    }
    if (status == STATUS_DONE) {
        status = open_and_ask(&task, hub);
    }
    task_deinit(&task);
    return status;
}
