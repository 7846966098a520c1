// `patchbay pending`: lists the pending requests, oldest first, as a table, or with --json as the hub's answer on one
// line. Success: status 0. Failure: the hub's error is one line on standard error (status 1).
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "tools/client.h"
#include "tools/commands.h"
#include "tools/output.h"

enum { PENDING_TEXT_BYTES_MAX = 1024 };

static const struct column {
    const char *title, *key;
    int width;
} columns[] = {{"AGE ms", "ageMs", 9}, {"LEFT ms", "leftMs", 9}, {"STATE", "state", 7},
               {"BYTES", "bytes", 9},  {"SOURCE", "source", 24}, {"TARGET", "target", 24},
               {"USER", "user", 12},   {"ID", "sourceId", 12},   {"METHOD", "method", 0}};
enum { COLUMNS_COUNT = sizeof columns / sizeof columns[0] };

static void print_value(const uint8_t *text, struct span row, const struct column *column) {
    char meaning[PENDING_TEXT_BYTES_MAX];
    struct json_item item = json_member(text, row, column->key);
    size_t shown, bytes = SIZE_MAX;
    if (item.type == JSON_STRING) {
        bytes = json_string_decode(text, item.value, meaning, sizeof meaning);
    }
    if (item.type == JSON_NONE) {
        shown = output_text(stdout, (const uint8_t *)"-", 1);
    } else if (bytes != SIZE_MAX) {
        shown = output_text(stdout, (const uint8_t *)meaning, bytes);
    } else {
        shown = output_text(stdout, text + item.value.at, item.value.bytes);
    }
    for (; column->width && shown <= (size_t)column->width; shown++) {
        putchar(' ');
    }
}

static void print_rows(const struct client_answer *answer) {
    const uint8_t *text = answer->body.bytes;
    struct json_item rows = json_member(text, answer->value, "pending"), row;
    struct json_item total = json_member(text, answer->value, "total");
    struct json_walk walk;
    uint64_t all = 0, shown = 0;
    if (rows.type != JSON_ARRAY) {
        return;
    }
    for (size_t at = 0; at < COLUMNS_COUNT; at++) {
        printf("%-*s%s", columns[at].width, columns[at].title, columns[at].width ? " " : "\n");
    }
    json_walk_begin(&walk, text, rows.value);
    for (; json_next(&walk, &row) == JSON_ITEM; shown++) {
        for (size_t at = 0; at < COLUMNS_COUNT; at++) {
            print_value(text, row.value, &columns[at]);
        }
        putchar('\n');
    }
    if (total.type == JSON_NUMBER && json_number_whole(text, total.value, &all) && all > shown) {
        printf("%llu more\n", (unsigned long long)(all - shown));
    }
}

static enum status ask(const char *hub, const char *params, bool raw) {
    struct client client;
    struct client_answer answer;
    int error = client_open(&client, hub);
    if (error < 0) {
        return unreachable(hub, error);
    }
    error = client_call(&client, "hub/pending", params, &answer);
    enum status status = error < 0 ? unreachable(hub, error) : answer.refused ? STATUS_REFUSED : STATUS_DONE;
    if (error == 0 && (answer.refused || raw)) {
        output_line(answer.refused ? stderr : stdout, answer.body.bytes + answer.value.at,
                    answer.value.bytes);
    } else if (error == 0) {
        print_rows(&answer);
    }
    client_close(&client);
    return status;
}

static bool read_limit(const char *text, uint64_t *limit) {
    char *end;
    errno = 0;
    *limit = strtoull(text, &end, 10);
    return errno == 0 && *text >= '0' && *text <= '9' && *end == '\0';
}

enum status command_pending(int argc, char **argv, const char *hub) {
    const char *agent = NULL;
    uint64_t limit = 0;
    bool raw = false, has_limit = false;
    for (int at = 1; at < argc; at++) {
        if (strcmp(argv[at], "--json") == 0) {
            raw = true;
        } else if (strcmp(argv[at], "--limit") == 0 && at + 1 < argc) {
            has_limit = read_limit(argv[++at], &limit);
            if (!has_limit) {
                return usage(argv[0]);
            }
        } else if (argv[at][0] != '-' && agent == NULL) {
            agent = argv[at];
        } else {
            return usage(argv[0]);
        }
    }
    struct text params;
    text_init(&params);
    text_put(&params, "{");
    if (agent != NULL) {
        text_put(&params, "\"agent\":");
        text_string(&params, agent, strlen(agent));
    }
    if (has_limit) {
        text_put(&params, agent != NULL ? ",\"limit\":" : "\"limit\":");
        text_number(&params, (int64_t)limit);
    }
    text_add(&params, "}", sizeof "}");
    enum status status = params.failed ? STATUS_REFUSED : ask(hub, params.bytes, raw);
    text_deinit(&params);
    return status;
}
