// `patchbay tap`: shows the hub's messages, one entry each, on a line, or with --json as the hub tells it. Success: the
// command ends with status 0 at an interrupt, or when --count entries are printed. Failure: the hub refuses the tap
// (status 1), or closes (status 3). Entries that the hub couldn't tell this program are counted on standard error.
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/base/text.h"
#include "tools/commands.h"
#include "tools/input.h"
#include "tools/output.h"
#include "tools/tap_stream.h"

enum { TAP_TEXT_BYTES_MAX = 1024 };

struct tap {
    struct text params;  // of hub/tap
    uint64_t count_left; // 0: no end
    bool raw;
};

// --- Messages of the hub

static void print_value(const uint8_t *text, const struct json_item *item) {
    char meaning[TAP_TEXT_BYTES_MAX];
    size_t bytes = item->type == JSON_STRING
                       ? json_string_decode_begin(text, item->value, meaning, sizeof meaning)
                       : SIZE_MAX;
    if (item->type == JSON_NONE || item->type == JSON_NULL) {
        putchar('-');
    } else if (bytes != SIZE_MAX) {
        output_escaped(stdout, (const uint8_t *)meaning, bytes);
    } else {
        output_escaped(stdout, text + item->value.at, item->value.bytes);
    }
}

static void print_time(const uint8_t *text, const struct json_item *item) {
    char time[TIMESTAMP_BYTES + 1] = "-";
    uint64_t ms;
    if (item->type == JSON_NUMBER && json_number_whole(text, item->value, &ms)) {
        timestamp_write(time, ms);
        time[TIMESTAMP_BYTES] = '\0';
    }
    fputs(time, stdout);
}

// Prints an entry as TIME KIND SOURCE -> TARGET METHOD OUTCOME, and its other members by name.
static void print_entry(const uint8_t *text, struct span entry) {
    static const char *const others[] = {"code",     "event", "delivered",   "user",    "sourceId",
                                         "targetId", "bytes", "answerBytes", "queueUs", "targetUs",
                                         "hubUs",    "trace", "body"};
    struct json_item time = json_member(text, entry, "time"), kind = json_member(text, entry, "kind");
    struct json_item source = json_member(text, entry, "source"), target = json_member(text, entry, "target");
    struct json_item method = json_member(text, entry, "method");
    struct json_item outcome = json_member(text, entry, "outcome");
    print_time(text, &time);
    putchar(' ');
    print_value(text, &kind);
    putchar(' ');
    print_value(text, &source);
    fputs(" -> ", stdout);
    print_value(text, &target);
    putchar(' ');
    print_value(text, &method);
    putchar(' ');
    print_value(text, &outcome);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct json_item item = json_member(text, entry, others[i]);
        if (item.type != JSON_NONE) {
            printf(" %s=", others[i]);
            print_value(text, &item);
        }
    }
    putchar('\n');
}

// Prints the entries of a hub/tapped. Returns false after the last entry that is wanted.
static bool take_entries(void *context, const uint8_t *body, struct span params) {
    struct tap *tap = context;
    struct json_item entries = json_member(body, params, "entries"), entry;
    struct json_item missed = json_member(body, params, "missed");
    struct json_walk walk;
    uint64_t count = 0;
    if (missed.type == JSON_NUMBER && json_number_whole(body, missed.value, &count) && count > 0) {
        fprintf(stderr, "tap: %" PRIu64 " entries were missed\n", count);
    }
    if (entries.type != JSON_ARRAY) {
        return true;
    }
    bool goes_on = true;
    json_walk_begin(&walk, body, entries.value);
    while (goes_on && json_next(&walk, &entry) == JSON_ITEM) {
        if (tap->raw) {
            output_line(stdout, body + entry.value.at, entry.value.bytes);
        } else {
            print_entry(body, entry.value);
        }
        goes_on = tap->count_left == 0 || --tap->count_left > 0;
    }
    return fflush(stdout) == 0 && goes_on; // main reports a closed output
}

// --- Arguments

static void put_name(struct text *params, const char *name) {
    text_put(params, params->length > 1 ? ",\"" : "\"");
    text_put(params, name);
    text_put(params, "\":");
}

static void put_string(struct text *params, const char *name, const char *value) {
    put_name(params, name);
    text_string(params, value, strlen(value));
}

static bool put_count(struct text *params, const char *name, const char *value) {
    uint64_t count;
    if (!units_count(value, &count)) {
        return false;
    }
    put_name(params, name);
    text_number(params, (int64_t)count);
    return true;
}

static bool put_size(struct text *params, const char *name, const char *value) {
    uint64_t bytes;
    if (!units_size(value, &bytes)) {
        return false;
    }
    put_name(params, name);
    text_number(params, (int64_t)bytes);
    return true;
}

static bool put_time(struct text *params, const char *name, const char *value) {
    uint64_t ns;
    if (!units_time(value, &ns)) {
        return false;
    }
    put_name(params, name);
    text_number(params, (int64_t)(ns / 1000000));
    return true;
}

static bool read_option(struct tap *tap, int option, const char *value) {
    switch (option) {
    case 'a':
        put_string(&tap->params, "agent", value);
        return input_is_text(value);
    case 'm':
        put_string(&tap->params, "method", value);
        return input_is_text(value);
    case 'e':
        put_name(&tap->params, "errors");
        text_put(&tap->params, "true");
        return true;
    case 's':
        return put_time(&tap->params, "slowMs", value);
    case 'b':
        return put_size(&tap->params, "body", value);
    case 'r':
        return put_count(&tap->params, "rate", value);
    case 'c':
        return units_count(value, &tap->count_left) && tap->count_left > 0;
    case 'j':
        tap->raw = true;
        return true;
    default:
        return false;
    }
}

static bool read_arguments(struct tap *tap, int argc, char **argv) {
    static const struct option options[] = {{"agent", required_argument, NULL, 'a'},
                                            {"method", required_argument, NULL, 'm'},
                                            {"errors", no_argument, NULL, 'e'},
                                            {"slow", required_argument, NULL, 's'},
                                            {"body", required_argument, NULL, 'b'},
                                            {"rate", required_argument, NULL, 'r'},
                                            {"count", required_argument, NULL, 'c'},
                                            {"json", no_argument, NULL, 'j'},
                                            {0}};
    int option;
    text_put(&tap->params, "{");
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (!read_option(tap, option, optarg)) {
            return false;
        }
    }
    text_add(&tap->params, "}", sizeof "}");
    return optind == argc && !tap->params.failed;
}

enum status command_tap(int argc, char **argv, const char *hub) {
    struct tap tap = {0};
    struct tap_stream stream = {.hub = hub, .take = take_entries, .context = &tap};
    bool good = read_arguments(&tap, argc, argv);
    stream.params = tap.params.bytes;
    enum status status = good ? tap_stream_follow(&stream) : usage("tap");
    text_deinit(&tap.params);
    return status;
}
