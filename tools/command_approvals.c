// `patchbay approvals`: lists the messages that the hub holds until somebody approves them; or, with a verb, sends a
// decision on one of them. Success: status 0. Failure: the hub's error is one line on standard error (status 1). A
// decision that comes too late is told there, too.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "tools/client.h"
#include "tools/commands.h"
#include "tools/output.h"

enum { APPROVAL_TEXT_BYTES_MAX = 16 << 10 };

// --- The list

// Prints a string decoded, with its control characters escaped, and any other value as it is written.
static void print_value(const uint8_t *text, struct span of, const char *key) {
    static char meaning[APPROVAL_TEXT_BYTES_MAX];
    struct json_item item = json_member(text, of, key);
    size_t bytes =
        item.type == JSON_STRING ? json_string_decode(text, item.value, meaning, sizeof meaning) : SIZE_MAX;
    if (bytes != SIZE_MAX) {
        output_escaped(stdout, (const uint8_t *)meaning, bytes);
    } else if (item.type == JSON_NONE || item.type == JSON_NULL) {
        putchar('-');
    } else {
        output_escaped(stdout, text + item.value.at, item.value.bytes);
    }
}

static void print_named(const char *name, const uint8_t *text, struct span of, const char *key) {
    printf("  %-9s ", name);
    print_value(text, of, key);
    putchar('\n');
}

static void print_until(const uint8_t *text, struct span approval) {
    char time[TIMESTAMP_BYTES + 1] = "-";
    uint64_t ms;
    struct json_item until = json_member(text, approval, "until");
    if (until.type == JSON_NUMBER && json_number_whole(text, until.value, &ms)) {
        timestamp_write(time, ms);
        time[TIMESTAMP_BYTES] = '\0';
    }
    printf("  %-9s %s\n", "until", time);
}

static void print_approval(const uint8_t *text, struct span approval) {
    struct json_item artifact = json_member(text, approval, "artifact");
    print_value(text, approval, "checkpoint");
    putchar('\n');
    print_named("method", text, artifact.value, "method");
    print_named("target", text, artifact.value, "targetAgent");
    print_named("source", text, artifact.value, "sourceAgent");
    print_named("user", text, artifact.value, "user");
    print_named("level", text, artifact.value, "governanceLevel");
    print_until(text, approval);
    print_named("bytes", text, artifact.value, "bytes");
    print_named("preview", text, artifact.value, "preview");
}

static enum status print_list(const struct client_answer *answer) {
    const uint8_t *text = answer->body.bytes;
    struct json_item approvals = json_member(text, answer->value, "approvals"), approval;
    struct json_walk walk;
    if (approvals.type != JSON_ARRAY) {
        return STATUS_DONE;
    }
    json_walk_begin(&walk, text, approvals.value);
    while (json_next(&walk, &approval) == JSON_ITEM) {
        print_approval(text, approval.value);
    }
    return STATUS_DONE;
}

// --- Asking

static enum status print_decision(const struct client_answer *answer) {
    struct json_item applied = json_member(answer->body.bytes, answer->value, "applied");
    if (applied.type == JSON_TRUE) {
        return STATUS_DONE;
    }
    fputs("patchbay: nothing is held under this checkpoint, or not any more\n", stderr);
    return STATUS_REFUSED;
}

static enum status ask(const char *hub, const char *method, const struct text *params, bool raw,
                       enum status (*print)(const struct client_answer *answer)) {
    struct client client;
    struct client_answer answer;
    int error = params->failed ? -1 : client_open(&client, hub);
    if (error < 0) {
        return params->failed ? STATUS_REFUSED : unreachable(hub, error);
    }
    error = client_call(&client, method, params->bytes, &answer);
    enum status status = STATUS_DONE;
    if (error < 0) {
        status = unreachable(hub, error);
    } else if (answer.refused || raw) {
        status = answer.refused ? STATUS_REFUSED : STATUS_DONE;
        output_line(answer.refused ? stderr : stdout, answer.body.bytes + answer.value.at,
                    answer.value.bytes);
    } else {
        status = print(&answer);
    }
    client_close(&client);
    return status;
}

static enum status ask_list(const char *hub, bool raw) {
    struct text params;
    text_init(&params);
    text_add(&params, "{}", sizeof "{}");
    enum status status = ask(hub, "hub/approvals", &params, raw, print_list);
    text_deinit(&params);
    return status;
}

static void put_string(struct text *out, const char *before, const char *string) {
    text_put(out, before);
    text_string(out, string, strlen(string));
}

// Returns the approver's name, which a hub without a users file believes.
static const char *approver_name(void) {
    const char *name = getenv("LOGNAME");
    return name && *name ? name : "patchbay";
}

static enum status ask_decision(const char *hub, const char *decision, const char *checkpoint,
                                const char *feedback) {
    struct text params;
    text_init(&params);
    put_string(&params, "{\"checkpoint\":", checkpoint);
    put_string(&params, ",\"artifact\":{},\"approver\":", approver_name());
    put_string(&params, ",\"decision\":", decision);
    if (feedback) {
        put_string(&params, ",\"feedback\":", feedback);
    }
    text_add(&params, "}", sizeof "}");
    enum status status = ask(hub, "governance/approval", &params, false, print_decision);
    text_deinit(&params);
    return status;
}

enum status command_approvals(int argc, char **argv, const char *hub) {
    static const struct {
        const char *verb, *decision;
    } verbs[] = {{"approve", "approved"}, {"reject", "rejected"}, {"revise", "needs_revision"}};
    bool raw = argc == 2 && strcmp(argv[1], "--json") == 0;
    if (argc == 1 || raw) {
        return ask_list(hub, raw);
    }
    bool has_feedback = argc == 5 && strcmp(argv[3], "--feedback") == 0;
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(argv[1], verbs[i].verb) == 0 && (argc == 3 || has_feedback)) {
            // Another id isn't the gate's: the hub would route the decision to an agent.
            if (strncmp(argv[2], "gate:", 5) != 0) {
                fputs("patchbay: the hub's checkpoints begin with gate:\n", stderr);
                return STATUS_USAGE;
            }
            return ask_decision(hub, verbs[i].decision, argv[2], has_feedback ? argv[4] : NULL);
        }
    }
    return usage(argv[0]);
}
