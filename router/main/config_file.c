#include "router/main/config_file.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/rights/digest.h"
#include "core/wire/ini.h"
#include "io/plain_file.h"
#include "router/main/config_fault.h"
#include "router/main/config_options.h"
#include "router/main/config_print.h"
#include "router/main/config_values.h"

enum { FILE_BYTES_MAX = 4 << 20 };

enum part { PART_OPTIONS, PART_CHILD, PART_SKIPPED };

// A file that is being read.
struct reading {
    struct config *config;
    enum part part;
    uint32_t section_line;   // of the child's
    uint32_t section_faults; // that there were when it began
};

// --- What was given

static void keep_given(struct config *config, struct config_given *given) {
    assert(config->given_last && !*config->given_last);
    given->source = config->source;
    given->line = config->line;
    given->next = NULL;
    *config->given_last = given;
    config->given_last = &given->next;
}

bool config_note(struct config *config, const struct option *option, const char *value) {
    size_t bytes = strlen(value) + 1;
    struct config_given *given = malloc(sizeof *given + bytes);
    if (!given)
        return config_complain(config, option->name, "memory is used up");
    *given = (struct config_given){.option = option};
    memcpy(given->value, value, bytes);
    keep_given(config, given);
    return true;
}

static bool note_child(struct config *config, const char *child, const char *key) {
    size_t child_bytes = strlen(child) + 1, key_bytes = strlen(key) + 1;
    struct config_given *given = malloc(sizeof *given + child_bytes + key_bytes);
    if (!given)
        return config_complain(config, key, "memory is used up");
    *given = (struct config_given){0};
    given->child = memcpy(given->value, child, child_bytes);
    given->key = memcpy(given->value + child_bytes, key, key_bytes);
    keep_given(config, given);
    return true;
}

// Whether this source has given the option before.
static bool is_given_here(const struct config *config, const struct option *option) {
    for (const struct config_given *given = config->given; given; given = given->next)
        if (given->option == option && given->source == config->source)
            return true;
    return false;
}

// --- Lines

static void take_key(struct config *config, const struct ini_line *line) {
    assert(line->kind == INI_KEY && line->value);
    const struct option *option = option_find(line->key);
    const char *value = ini_unquote(line->value);
    if (!option || option->traits & OPTION_ARGUMENT) {
        config_complain(config, line->key, "expected a key that there is; patchbayd --help lists them");
    } else if (!(option->traits & OPTION_REPEATS) && is_given_here(config, option)) {
        config_complain(config, line->key, "expected a key that is given once");
    } else if (option->traits & OPTION_SECRET && config_print_hides(value)) {
        config_complain(config, line->key, "expected a value: *** stands for a secret that was not shown");
    } else if (config_note(config, option, value)) {
        config_set(config, option, value);
    }
}

static void take_child_key(struct config *config, const struct ini_line *line) {
    assert(config->children.child && line->kind == INI_KEY);
    bool is_hidden = strncmp(line->key, "set", 3) == 0 && strcmp(line->value, "***") == 0;
    const char *expected = is_hidden ? "a value: *** stands for one that was not shown"
                                     : config_children_set(&config->children, line->key, line->value);
    if (expected)
        config_complain(config, line->key, "expected %s", expected);
    note_child(config, config->children.child->name, line->key);
}

static void end_section(struct reading *reading) {
    struct config *config = reading->config;
    if (reading->part == PART_CHILD && config->faults > reading->section_faults) {
        config_children_drop(&config->children);
    } else if (reading->part == PART_CHILD) {
        char name[AGENT_ID_BYTES_MAX + 1];
        strcpy(name, config->children.child->name);
        const char *expected = config_children_end(&config->children);
        config->line = reading->section_line;
        if (expected)
            config_complain(config, name, "expected %s", expected);
    }
    reading->part = PART_SKIPPED;
}

static void begin_section(struct reading *reading, const char *section) {
    static const char kind[] = "child";
    struct config *config = reading->config;
    size_t blanks =
        strncmp(section, kind, sizeof kind - 1) == 0 ? strspn(section + sizeof kind - 1, " \t") : 0;
    reading->section_line = config->line;
    reading->section_faults = config->faults;
    if (blanks == 0) {
        config_complain(config, section, "expected [child NAME]: there are no other sections");
        return;
    }
    const char *name = section + sizeof kind - 1 + blanks;
    const char *expected = config_children_begin(&config->children, name);
    if (expected) {
        config_complain(config, section, "expected %s", expected);
        return;
    }
    reading->part = PART_CHILD;
    note_child(config, name, "");
}

static void take_line(struct reading *reading, const struct ini_line *line) {
    struct config *config = reading->config;
    config->line = line->number;
    if (line->is_section) {
        end_section(reading);
        config->line = line->number;
    }
    if (line->kind == INI_SECTION) {
        begin_section(reading, line->key);
    } else if (line->kind == INI_FAULT) {
        config_complain(config, NULL, "expected %s", line->expected);
    } else if (reading->part == PART_OPTIONS) {
        take_key(config, line);
    } else if (reading->part == PART_CHILD) {
        take_child_key(config, line);
    }
}

// --- The file

static int read_all(int file, char *text, size_t *bytes) {
    assert(file >= 0 && *bytes == 0);
    int failed = plain_file_read(file, text, FILE_BYTES_MAX + 1, bytes);
    return failed ? -failed : *bytes > FILE_BYTES_MAX ? EFBIG : 0;
}

static void read_lines(struct config *config, char *text, size_t bytes) {
    struct reading reading = {.config = config};
    struct ini ini;
    struct ini_line line;
    ini_begin(&ini, text, bytes, true);
    for (ini_next(&ini, &line); line.kind != INI_END; ini_next(&ini, &line))
        take_line(&reading, &line);
    end_section(&reading);
}

bool config_read_file(struct config *config, const char *path) {
    uint32_t faults = config->faults;
    size_t bytes = 0;
    assert(config->source == 0); // a file names no other one
    if (config->files == CONFIG_FILES_MAX)
        return config_complain(config, "config", "expected 16 files at most");
    int file = plain_file_open(path);
    char *text = file < 0 ? NULL : malloc(FILE_BYTES_MAX + 2);
    int error = file < 0 ? -file : text ? read_all(file, text, &bytes) : ENOMEM;
    if (file >= 0)
        close(file);
    config->files_read[config->files] = path;
    config->source = ++config->files;
    config->line = 0;
    if (error)
        config_complain(config, NULL, "can't read it: %s",
                        error == EFBIG ? "it has more than 4M" : strerror(error));
    else
        read_lines(config, text, bytes);
    config->source = config->line = 0;
    if (text)
        digest_wipe(text, bytes); // it may hold secrets of children
    free(text);
    return config->faults == faults;
}
