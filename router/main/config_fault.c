#include "router/main/config_fault.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/log/log_secret.h"
#include "io/log.h"
#include "router/main/config_options.h"

enum { FAULT_BYTES_MAX = 2048, SHOWN_BYTES_MAX = 128 };

__attribute__((format(printf, 3, 0))) static void
print(enum log_event event, const struct config_place *place, const char *format, va_list arguments) {
    char head[700], text[FAULT_BYTES_MAX];
    size_t used = 0;
    head[0] = '\0';
    if (place->file && place->line)
        used = (size_t)snprintf(head, sizeof head, "%.512s:%u: ", place->file, place->line);
    else if (place->file)
        used = (size_t)snprintf(head, sizeof head, "%.512s: ", place->file);
    if (place->key)
        used += (size_t)snprintf(head + used, sizeof head - used, "%s%.64s: ", place->file ? "" : "--",
                                 place->key);
    assert(used < sizeof head);
    vsnprintf(text, sizeof text, format, arguments);
    const struct log_field line = place->line ? log_number(place->line) : log_unknown();
    log_write(event, LOG_FIELDS(log_text(place->file), line, log_text(place->key)), "%s%s", head, text);
}

void config_fault(const struct config_place *place, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print(LOG_CONFIG_FAULT, place, format, arguments);
    va_end(arguments);
}

void config_warn(const struct config_place *place, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print(LOG_CONFIG_WARNING, place, format, arguments);
    va_end(arguments);
}

static const char *file_of(const struct config *config, uint32_t source) {
    assert(source <= config->files);
    return source ? config->files_read[source - 1] : NULL;
}

bool config_complain(struct config *config, const char *key, const char *format, ...) {
    assert(format && *format);
    const struct config_place place = {file_of(config, config->source), config->line, key};
    va_list arguments;
    va_start(arguments, format);
    print(LOG_CONFIG_FAULT, &place, format, arguments);
    va_end(arguments);
    config->faults++;
    return false;
}

bool config_is_hidden(const char *value) {
    return strstr(value, CONFIG_HIDDEN) != NULL;
}

bool config_complain_of_value(struct config *config, const char *key, const char *value,
                              const char *expected) {
    // The text before an @ may be a server's credential, even in an option that doesn't take servers.
    bool is_shown = value && strlen(value) < SHOWN_BYTES_MAX && !strchr(value, '@');
    char shown[SHOWN_BYTES_MAX] = "";
    if (is_shown)
        strcpy(shown, value);
    shown[log_hide_named(shown, strlen(shown))] = '\0';
    return config_complain(config, key, "expected %s%s%s%s", expected, is_shown ? ", not '" : "", shown,
                           is_shown ? "'" : "");
}

bool config_is_given(const struct config *config, const char *option) {
    const struct config_given *given = config->given;
    while (given && !(given->option && strcmp(given->option->name, option) == 0))
        given = given->next;
    return given != NULL;
}

struct config_place config_place_of(const struct config *config, const char *option) {
    struct config_place place = {.key = option};
    for (const struct config_given *given = config->given; given; given = given->next)
        if (given->option && strcmp(given->option->name, option) == 0) {
            place.file = file_of(config, given->source);
            place.line = given->line;
        }
    return place;
}

// Returns whether an option with OPTION_CHILD keeps this child.
static bool keeps_child(const struct config_given *given, const char *child) {
    size_t bytes = strlen(child);
    assert(bytes > 0);
    return given->option && given->option->traits & OPTION_CHILD &&
           strncmp(given->value, child, bytes) == 0 && given->value[bytes] == '=';
}

struct config_place config_place_of_child(const struct config *config, const char *child, const char *key) {
    struct config_place place = {.key = child};
    for (const struct config_given *given = config->given; given; given = given->next) {
        if (keeps_child(given, child))
            place = (struct config_place){file_of(config, given->source), given->line, given->option->name};
        if (!given->child || strcmp(given->child, child) != 0)
            continue;
        bool is_key = strcmp(given->key, key) == 0;
        if (place.file && !is_key)
            continue;
        place.file = file_of(config, given->source);
        place.line = given->line;
        place.key = is_key ? key : child;
    }
    return place;
}

bool config_complain_of(struct config *config, const char *option, const char *format, ...) {
    struct config_place place = config_place_of(config, option);
    va_list arguments;
    va_start(arguments, format);
    print(LOG_CONFIG_FAULT, &place, format, arguments);
    va_end(arguments);
    config->faults++;
    return false;
}
