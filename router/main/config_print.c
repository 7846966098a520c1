#include "router/main/config_print.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/child/log_line.h"
#include "router/main/config_options.h"

#define HIDDEN "***"

enum { PLACE_BYTES = 512, VALUE_BYTES = 16 << 10 };

bool config_print_hides(const char *value) {
    return strstr(value, HIDDEN) != NULL;
}

// --- Where a value is from

// Nothing in a file's name ends the comment, or a value in quotes before it.
static void write_place(const struct config *config, uint32_t source, uint32_t line,
                        char out[4 * PLACE_BYTES + 16]) {
    assert(source <= config->files);
    if (source == 0) {
        strcpy(out, "command line");
        return;
    }
    const char *file = config->files_read[source - 1];
    size_t bytes = strnlen(file, PLACE_BYTES), used = log_escape((const uint8_t *)file, bytes, out);
    for (size_t at = 0; at < used; at++)
        out[at] = out[at] == '"' ? '?' : out[at];
    snprintf(out + used, 16, ":%u", line);
}

// --- Values

// Puts `***` in the place of what stands before the last @ of each URL.
static void hide_credentials(const char *urls, char *out, size_t capacity) {
    size_t used = 0;
    out[0] = '\0';
    for (size_t bytes; *urls && used < capacity; urls += bytes + (urls[bytes] == ',')) {
        bytes = strcspn(urls, ",");
        const char *scheme = memmem(urls, bytes, "://", 3), *begin = scheme ? scheme + 3 : urls;
        const char *at = memrchr(begin, '@', bytes - (size_t)(begin - urls)), *rest = at ? at : begin;
        used +=
            (size_t)snprintf(out + used, capacity - used, "%s%.*s%s%.*s", used ? "," : "",
                             (int)(begin - urls), urls, at ? HIDDEN : "", (int)(urls + bytes - rest), rest);
    }
}

static bool is_blank(char byte) {
    return byte == ' ' || byte == '\t' || byte == '\r';
}

// In quotes where a comment would begin in it, quotes begin it, or blanks at its ends would be taken away.
static bool needs_quotes(const char *value) {
    size_t bytes = strlen(value);
    bool has_blanks = bytes > 0 && (is_blank(*value) || is_blank(value[bytes - 1]));
    return has_blanks || *value == '"' || *value == ';' || strstr(value, " ;") || strstr(value, "\t;");
}

static void print_value(const struct option *option, const char *value, const char *place) {
    char hidden[VALUE_BYTES];
    if (option->traits & OPTION_SECRET) {
        hide_credentials(value, hidden, sizeof hidden);
        value = hidden;
    }
    const char *quote = needs_quotes(value) ? "\"" : "";
    printf("%s = %s%s%s ; %s\n", option->name, quote, value, quote, place);
}

// --- Options

// The source that counts: the last that gave the option. False: none did.
static bool find_source(const struct config *config, const struct option *option,
                        const struct config_given **last) {
    *last = NULL;
    for (const struct config_given *given = config->given; given; given = given->next)
        if (given->option == option)
            *last = given;
    return *last != NULL;
}

static void print_given(const struct config *config, const struct option *option,
                        const struct config_given *last) {
    char place[4 * PLACE_BYTES + 16];
    bool repeats = option->traits & OPTION_REPEATS;
    for (const struct config_given *given = config->given; given; given = given->next) {
        bool counts =
            option->kind == OPTION_EXTENSION || (repeats ? given->source == last->source : given == last);
        if (given->option != option || !counts)
            continue;
        write_place(config, given->source, given->line, place);
        print_value(option, given->value, place);
    }
}

static void print_listeners(const struct config *config, const struct option *option) {
    char uri[160];
    uint32_t count = config->listener_count - (config->http.transport[0] != '\0');
    for (uint32_t index = 0; index < count; index++) {
        address_format(&config->listeners[index], uri, sizeof uri);
        print_value(option, uri, "default");
    }
}

static void print_default(const struct config *config, const struct option *option) {
    char text[160];
    const char *value = option->preset;
    if (option->kind == OPTION_LISTEN) {
        print_listeners(config, option);
        return;
    }
    if (option->kind == OPTION_HTTP) {
        value = "off";
        if (config->http.transport[0]) {
            address_format(&config->http, text, sizeof text);
            value = text;
        }
    } else if (option->kind == OPTION_COUNT && !value) {
        snprintf(text, sizeof text, "%u", config->settings.shard_count);
        value = text;
    } else if (option->kind == OPTION_TEXT && ((const char *)config)[option->offset]) {
        value = (const char *)config + option->offset; // it follows from another one
    }
    if (value)
        print_value(option, value, "default");
    else
        printf("; %s = ; default\n", option->name);
}

// --- Children

static const struct config_given *find_key(const struct config *config, const char *child, const char *key) {
    const struct config_given *given = config->given;
    while (given && !(given->child && strcmp(given->child, child) == 0 && strcmp(given->key, key) == 0))
        given = given->next;
    return given;
}

static void print_key(const struct config *config, const struct child_settings *child, const char *key,
                      const char *value) {
    char place[4 * PLACE_BYTES + 16];
    const struct config_given *given = find_key(config, child->name, key);
    bool is_secret = strncmp(key, "set", 3) == 0 && (key[3] == ' ' || key[3] == '\t');
    if (given) {
        write_place(config, given->source, given->line, place);
        printf("; %s\n", place);
    }
    printf("%s = %s\n", key, is_secret ? HIDDEN : value);
}

// One of --extension is among the options.
static void print_child(const struct config *config, const struct child_settings *child) {
    if (!find_key(config, child->name, ""))
        return;
    assert(!child->all.failed);
    printf("\n[child %s]\n", child->name);
    const char *end = child->all.bytes + child->all.length;
    for (const char *key = child->all.bytes; key < end;) {
        const char *value = key + strlen(key) + 1;
        print_key(config, child, key, value);
        key = value + strlen(value) + 1;
    }
}

void config_print(const struct config *config) {
    size_t count;
    const struct option *options = options_all(&count);
    for (size_t at = 0; at < count; at++) {
        const struct config_given *last;
        if (options[at].traits & OPTION_ARGUMENT)
            continue;
        if (find_source(config, &options[at], &last))
            print_given(config, &options[at], last);
        else
            print_default(config, &options[at]);
    }
    for (const struct child_settings *child = config->children.first; child; child = child->next)
        print_child(config, child);
}
