// `patchbay agents` and `patchbay stats`: print one answer of the hub as a table, or with --json unchanged on one line.
// Success: status 0. Failure: the hub's error is one line on standard error (status 1). An answer with missing members
// is printed as far as it has them.
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tools/client.h"
#include "tools/commands.h"
#include "tools/output.h"

enum { SHOW_TEXT_BYTES_MAX = 512, SHOW_NAME_BYTES_MAX = 1024 };

// Prints at least `width` columns.
static void print_padded(const char *text, size_t bytes, size_t width) {
    for (size_t i = output_text(stdout, (const uint8_t *)text, bytes); i < width; i++) {
        putchar(' ');
    }
}

// Prints a string decoded, and any other value as it is written.
static void print_value(const uint8_t *text, const struct json_item *item, size_t width) {
    char meaning[SHOW_TEXT_BYTES_MAX];
    size_t bytes =
        item->type == JSON_STRING ? json_string_decode(text, item->value, meaning, sizeof meaning) : SIZE_MAX;
    if (bytes != SIZE_MAX) {
        print_padded(meaning, bytes, width);
    } else if (item->type == JSON_NONE) {
        print_padded("-", 1, width);
    } else {
        print_padded((const char *)text + item->value.at, item->value.bytes, width);
    }
}

// Prints a time in ms since 1970 as UTC to the second. Prints any other value as it is written.
static void print_time(const uint8_t *text, const struct json_item *item, size_t width) {
    uint64_t since_ms;
    char shown[32];
    struct tm utc;
    if (item->type == JSON_NUMBER && json_number_whole(text, item->value, &since_ms)) {
        time_t since = (time_t)(since_ms / 1000);
        if (gmtime_r(&since, &utc) != NULL) {
            size_t bytes = strftime(shown, sizeof shown, "%Y-%m-%dT%H:%M:%SZ", &utc);
            print_padded(shown, bytes, width);
            return;
        }
    }
    print_value(text, item, width);
}

// Prints the state of a program that the hub keeps.
static void print_state(const uint8_t *text, const struct json_item *item, size_t width) {
    struct json_item state = {0};
    if (item->type == JSON_OBJECT) {
        state = json_member(text, item->value, "state");
    }
    print_value(text, &state, width);
}

static void print_agent(const uint8_t *text, struct span agent, bool in_cluster) {
    static const struct {
        const char *key;
        size_t width;
        void (*print)(const uint8_t *text, const struct json_item *item, size_t width);
    } columns[] = {{"hubName", 16, print_value}, {"hub", 36, print_value},
                   {"agentId", 32, print_value}, {"governanceLevel", 18, print_value},
                   {"pending", 8, print_value},  {"connectedSince", 25, print_time},
                   {"child", 8, print_state},    {"capabilities", 0, print_value}};
    for (size_t i = in_cluster ? 0 : 2; i < sizeof columns / sizeof columns[0]; i++) {
        struct json_item item = json_member(text, agent, columns[i].key);
        columns[i].print(text, &item, columns[i].width);
        putchar(columns[i].width > 0 ? ' ' : '\n');
    }
}

static void print_list(const uint8_t *text, struct span result, bool in_cluster) {
    if (in_cluster) {
        printf("%-16s %-36s ", "HUB NAME", "HUB");
    }
    printf("%-32s %-18s %-8s %-25s %-8s %s\n", "AGENT", "LEVEL", "PENDING", "CONNECTED SINCE", "CHILD",
           "CAPABILITIES");
    struct json_item agents = json_member(text, result, "agents");
    if (agents.type != JSON_ARRAY) {
        return;
    }
    struct json_walk walk;
    struct json_item agent;
    json_walk_begin(&walk, text, agents.value);
    while (json_next(&walk, &agent) == JSON_ITEM) {
        print_agent(text, agent.value, in_cluster);
    }
}

static void print_agents(const uint8_t *text, struct span result) {
    print_list(text, result, false);
}

static void print_cluster(const uint8_t *text, struct span result) {
    print_list(text, result, true);
    if (json_member(text, result, "complete").type == JSON_FALSE) {
        fputs("patchbay: not all hubs have answered\n", stderr);
    }
}

// Appends the name of a member, or the number of an element, to a name. Returns the new length; 0: there is no room.
static size_t add_name(char *name, size_t name_bytes, const uint8_t *text, const struct json_item *item,
                       unsigned index) {
    size_t room = SHOW_NAME_BYTES_MAX - name_bytes - 1;
    if (item->key.bytes > 0) {
        size_t bytes = json_string_decode(text, item->key, name + name_bytes, room);
        return bytes == SIZE_MAX ? 0 : bytes;
    }
    int bytes = snprintf(name + name_bytes, room, "%u", index);
    return bytes > 0 && (size_t)bytes < room ? (size_t)bytes : 0;
}

// Prints one value a line, as `name value`. A value of a group is `group.name value`, and a value of a list is `list.0
// value`. Groups whose names would be too long are printed as they are written.
static void print_counters(const uint8_t *text, struct span group, char *name, size_t name_bytes) {
    struct json_walk walk;
    struct json_item item;
    json_walk_begin(&walk, text, group);
    for (unsigned index = 0; json_next(&walk, &item) == JSON_ITEM; index++) {
        size_t key_bytes = add_name(name, name_bytes, text, &item, index);
        if ((item.type == JSON_OBJECT || item.type == JSON_ARRAY) && key_bytes > 0) {
            name[name_bytes + key_bytes] = '.';
            print_counters(text, item.value, name, name_bytes + key_bytes + 1);
            continue;
        }
        print_padded(name, name_bytes + key_bytes, 0);
        putchar(' ');
        print_value(text, &item, 0);
        putchar('\n');
    }
}

static void print_stats(const uint8_t *text, struct span result) {
    char name[SHOW_NAME_BYTES_MAX];
    if (text[result.at] == '{') {
        print_counters(text, result, name, 0);
    }
}

enum status command_show_answer(const char *hub, bool raw, const char *method, const char *params,
                                void (*print)(const uint8_t *text, struct span result)) {
    struct client client;
    int error = client_open(&client, hub);
    if (error < 0) {
        return unreachable(hub, error);
    }
    struct client_answer answer;
    error = client_call(&client, method, params, &answer);
    enum status status = STATUS_DONE;
    if (error < 0) {
        status = unreachable(hub, error);
    } else if (answer.refused || raw) {
        status = answer.refused ? STATUS_REFUSED : STATUS_DONE;
        output_line(answer.refused ? stderr : stdout, answer.body.bytes + answer.value.at,
                    answer.value.bytes);
    } else {
        print(answer.body.bytes, answer.value);
    }
    client_close(&client);
    return status;
}

// Removes `word` from the arguments. Returns whether `word` was there.
static bool take_word(int *argc, char **argv, const char *word) {
    for (int at = 1; at < *argc; at++) {
        if (strcmp(argv[at], word) == 0) {
            memmove(&argv[at], &argv[at + 1], (size_t)(--*argc - at) * sizeof *argv);
            return true;
        }
    }
    return false;
}

enum status command_agents(int argc, char **argv, const char *hub) {
    bool raw = take_word(&argc, argv, "--json"), in_cluster = take_word(&argc, argv, "--cluster");
    if (argc != 1) {
        return usage(argv[0]);
    }
    return command_show_answer(hub, raw, "hub/agents", in_cluster ? "{\"cluster\":true}" : NULL,
                               in_cluster ? print_cluster : print_agents);
}

enum status command_stats(int argc, char **argv, const char *hub) {
    bool raw = take_word(&argc, argv, "--json");
    return argc != 1 ? usage(argv[0]) : command_show_answer(hub, raw, "hub/stats", NULL, print_stats);
}
