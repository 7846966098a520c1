// `patchbay send`: one agent/request (HugAI v2 messages, 3.3) and its answer, printed as it came.
// It goes well: the result is one line on standard output. It fails: the error is one line on standard error,
// status 1.
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/limits.h"
#include "core/simdjson.h"
#include "core/text.h"
#include "tools/client.h"
#include "tools/commands.h"
#include "tools/output.h"

struct task {
    const char *target, *name;
    const char *source, *context; // NULL when not given
};

// Whether the text is one JSON value. simdjson wants slack behind the text, so a copy is judged.
static bool is_json(const char *text) {
    size_t bytes = strlen(text);
    uint8_t *padded = calloc(1, bytes + BUFFER_SLACK_BYTES);
    struct simdjson_parser *parser = simdjson_create();
    bool valid = false;
    if (padded != NULL && parser != NULL && bytes > 0) {
        memcpy(padded, text, bytes);
        valid = simdjson_judge(parser, padded, bytes) == SIMDJSON_VALID;
    }
    if (parser != NULL) {
        simdjson_destroy(parser);
    }
    free(padded);
    return valid;
}

static bool is_text(const char *text) {
    return simdjson_utf8((const uint8_t *)text, strlen(text));
}

static bool read_arguments(struct task *task, int argc, char **argv) {
    static const struct option options[] = {
        {"context", required_argument, NULL, 'c'}, {"source", required_argument, NULL, 's'}, {0}};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'c') {
            task->context = optarg;
        } else if (option == 's') {
            task->source = optarg;
        } else {
            return false;
        }
    }
    if (argc - optind != 2) {
        return false;
    }
    task->target = argv[optind];
    task->name = argv[optind + 1];
    return true;
}

// What is wrong with the arguments' values; NULL when nothing is.
static const char *fault_of(const struct task *task) {
    if (!is_text(task->target) || !is_text(task->name) || (task->source != NULL && !is_text(task->source))) {
        return "the arguments must be UTF-8";
    }
    return task->context != NULL && !is_json(task->context) ? "--context must be valid JSON" : NULL;
}

static void write_params(struct text *params, const struct task *task) {
    text_put(params, "{");
    if (task->source != NULL) {
        text_put(params, "\"sourceAgent\":");
        text_string(params, task->source, strlen(task->source));
        text_put(params, ",");
    }
    text_put(params, "\"targetAgent\":");
    text_string(params, task->target, strlen(task->target));
    text_put(params, ",\"task\":");
    text_string(params, task->name, strlen(task->name));
    if (task->context != NULL) {
        text_put(params, ",\"context\":");
        text_put(params, task->context);
    }
    text_add(params, "}", 2); // with its terminating zero
}

enum status command_send(int argc, char **argv, const char *hub) {
    struct task task = {0};
    if (!read_arguments(&task, argc, argv)) {
        return usage("send");
    }
    const char *fault = fault_of(&task);
    if (fault != NULL) {
        fprintf(stderr, "patchbay: send: %s\n", fault);
        return STATUS_USAGE;
    }
    struct client client;
    int error = client_open(&client, hub);
    if (error < 0) {
        return unreachable(hub, error);
    }
    struct text params = {0};
    write_params(&params, &task);
    struct client_answer answer;
    error = params.failed ? -ENOMEM : client_call(&client, "agent/request", params.bytes, &answer);
    text_deinit(&params);
    enum status status = STATUS_DONE;
    if (error < 0) {
        status = unreachable(hub, error);
    } else {
        status = answer.refused ? STATUS_REFUSED : STATUS_DONE;
        output_line(answer.refused ? stderr : stdout, answer.body.bytes + answer.value.at,
                    answer.value.bytes);
    }
    client_close(&client);
    return status;
}
