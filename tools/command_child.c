// `patchbay child`: lists the programs that the hub keeps running, as a table or with --json as the hub's answer. With
// a verb restarts or stops a program, or prints its last lines on standard error. Success: status 0. Failure: the hub's
// error is one line on standard error (status 1).
#include <stdio.h>
#include <string.h>

#include "core/base/text.h"
#include "tools/client.h"
#include "tools/commands.h"
#include "tools/output.h"

enum { CHILD_TEXT_BYTES_MAX = 16 << 10 };

// Prints a string decoded, and any other value as it is written, in `width` columns at least.
static void print_column(const uint8_t *text, struct span of, const char *key, size_t width) {
    static char meaning[CHILD_TEXT_BYTES_MAX];
    struct json_item item = json_member(text, of, key);
    size_t bytes =
        item.type == JSON_STRING ? json_string_decode(text, item.value, meaning, sizeof meaning) : SIZE_MAX;
    size_t shown;
    if (bytes != SIZE_MAX) {
        shown = output_text(stdout, (const uint8_t *)meaning, bytes);
    } else if (item.type == JSON_NONE || item.type == JSON_NULL) {
        shown = output_text(stdout, (const uint8_t *)"-", 1);
    } else {
        shown = output_text(stdout, text + item.value.at, item.value.bytes);
    }
    while (shown++ < width) {
        putchar(' ');
    }
}

static void print_list(const uint8_t *text, struct span result) {
    static const struct {
        const char *key, *title;
        size_t width;
    } columns[] = {{"name", "CHILD", 24},          {"state", "STATE", 10},
                   {"protocol", "PROTOCOL", 9},    {"pid", "PID", 9},
                   {"restarts", "RESTARTS", 9},    {"failures", "FAILURES", 9},
                   {"residentBytes", "BYTES", 12}, {"lastFault", "LAST FAULT", 0}};
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct json_walk walk;
    struct json_item child;
    struct json_item children = json_member(text, result, "children");
    for (size_t i = 0; i < COLUMNS; i++) {
        printf("%-*s%s", (int)columns[i].width, columns[i].title, i + 1 < COLUMNS ? " " : "\n");
    }
    if (children.type != JSON_ARRAY) {
        return;
    }
    json_walk_begin(&walk, text, children.value);
    while (json_next(&walk, &child) == JSON_ITEM) {
        for (size_t i = 0; i < COLUMNS; i++) {
            print_column(text, child.value, columns[i].key, columns[i].width);
            putchar(i + 1 < COLUMNS ? ' ' : '\n');
        }
    }
}

static void print_log(const uint8_t *text, struct span result) {
    static char line[CHILD_TEXT_BYTES_MAX];
    struct json_walk walk;
    struct json_item item;
    struct json_item lines = json_member(text, result, "lines");
    if (lines.type != JSON_ARRAY) {
        return;
    }
    json_walk_begin(&walk, text, lines.value);
    while (json_next(&walk, &item) == JSON_ITEM) {
        size_t bytes =
            item.type == JSON_STRING ? json_string_decode(text, item.value, line, sizeof line) : SIZE_MAX;
        if (bytes != SIZE_MAX) {
            output_text(stdout, (const uint8_t *)line, bytes);
            putchar('\n');
        }
    }
}

static void print_nothing(const uint8_t *text, struct span result) {
    (void)text, (void)result;
}

enum status command_child(int argc, char **argv, const char *hub) {
    static const struct {
        const char *what, *method;
        bool has_name;
        void (*print)(const uint8_t *text, struct span result);
    } verbs[] = {{"list", "hub/children", false, print_list},
                 {"restart", "hub/childRestart", true, print_nothing},
                 {"stop", "hub/childStop", true, print_nothing},
                 {"log", "hub/childLog", true, print_log}};
    struct text params;
    bool raw = argc > 2 && strcmp(argv[argc - 1], "--json") == 0;
    int words = argc - raw;
    for (size_t i = 0; argc > 1 && i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(argv[1], verbs[i].what) != 0 || words != (verbs[i].has_name ? 3 : 2)) {
            continue;
        }
        text_init(&params);
        text_put(&params, "{");
        if (verbs[i].has_name) {
            text_put(&params, "\"name\":");
            text_string(&params, argv[2], strlen(argv[2]));
        }
        text_add(&params, "}", sizeof "}");
        enum status status =
            params.failed ? STATUS_REFUSED
                          : command_show_answer(hub, raw, verbs[i].method, params.bytes, verbs[i].print);
        text_deinit(&params);
        return status;
    }
    return usage(argv[0]);
}
