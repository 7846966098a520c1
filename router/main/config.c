#include "router/main/config.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/child/log_line.h"
#include "core/log/log_secret.h"
#include "core/rights/digest.h"
#include "core/wire/ini.h"
#include "io/log.h"
#include "io/plain_file.h"
#include "router/features/children/child_sections.h"
#include "router/main/config_fault.h"
#include "router/main/config_options.h"
#include "router/main/config_values.h"
#include "router/main/features.h"

// --- The command line

static void show_help(void) {
    char text[1024];
    size_t count;
    const struct option *options = options_all(&count);
    puts("patchbayd: carries JSON-RPC messages between agents\n\nusage: patchbayd [--OPTION VALUE]...\n");
    for (size_t at = 0; at < count; at++) {
        const char *value = options[at].value ? options[at].value : "";
        int pad = 24 - (int)strlen(options[at].name);
        option_describe(&options[at], text, sizeof text);
        printf("  --%s %-*s %s\n", options[at].name, pad > 0 ? pad : 0, value, text);
    }
    puts("  --help, --version\n\nexit status: 0 drained; 2 the options or the configuration can't be used; 1 "
         "anything else");
}

static void set_option(struct config *config, const struct option *option, const char *value) {
    assert(config->source == 0 && value);
    if (!config_note(config, option, value))
        return;
    if (option->kind == OPTION_CONFIG)
        config_read_file(config, value);
    else
        config_set(config, option, value);
}

// Complains of a word that is no option. A word that looks like an option is named by its name alone. Any other word
// may hold a secret, and is named by its position: 1 is the first.
static void complain_of_word(struct config *config, const char *word, int at) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    assert(at > 0);
    size_t bytes = strncmp(word, "--", 2) == 0 ? strspn(word, letters) : 0;
    if (bytes > 0 && bytes < 64 && (word[bytes] == '\0' || word[bytes] == '='))
        config_complain(config, NULL, "%.*s: expected an option; --help lists them", (int)bytes, word);
    else
        config_complain(config, NULL, "argument %d: expected an option; --help lists them", at);
}

// Takes the option at argv[*at], as `--name value` or `--name=value`, and moves *at behind the option.
static void take_argument(struct config *config, int argc, char **argv, int *at) {
    char name[32];
    assert(*at < argc);
    const char *word = argv[(*at)++];
    size_t bytes = strncmp(word, "--", 2) == 0 ? strcspn(word + 2, "=") : sizeof name;
    if (bytes < sizeof name) {
        memcpy(name, word + 2, bytes);
        name[bytes] = '\0';
    }
    const struct option *option = bytes < sizeof name ? option_find(name) : NULL;
    if (!option) {
        complain_of_word(config, word, *at - 1);
        return;
    }
    const char *value = word[2 + bytes] == '=' ? word + 3 + bytes : NULL;
    if (!value && option->kind == OPTION_FLAG)
        value = "yes";
    if (!value && *at < argc)
        value = argv[(*at)++];
    if (value)
        set_option(config, option, value);
    else
        config_complain(config, name, "expected a value: %s", option->value);
}

static bool is_question(const char *word) {
    return strcmp(word, "--help") == 0 || strcmp(word, "--version") == 0;
}

static void show(const char *question) {
    assert(is_question(question));
    if (strcmp(question, "--help") == 0)
        show_help();
    else
        puts("patchbayd " PATCHBAY_VERSION);
}

// Takes all arguments. Returns the first that asks for help or the version; NULL if none does.
static const char *take_arguments(struct config *config, int argc, char **argv) {
    const char *question = NULL;
    for (int at = 1; at < argc;) {
        if (!is_question(argv[at]))
            take_argument(config, argc, argv, &at);
        else if (!question)
            question = argv[at++];
        else
            at++;
    }
    return question;
}

// --- Checks across options

// Returns the protection that an address lacks. Returns NULL if nothing is lacking, or if only this machine's processes
// can reach the address. A socket's file that all users of the machine may open counts as reachable by others.
static const char *lack_of(const struct config *config, const struct address *address) {
    bool local = address_is_local(address), shared = address->mode & S_IRWXO;
    if (config->insecure || (local && !shared))
        return NULL;
    if (!config->users[0])
        return local
                   ? "by all users of this machine and there is no authentication: expected --users beside it"
                   : "from other machines and there is no authentication: expected --users beside it";
    return local || address->secure
               ? NULL
               : "from other machines and there is no TLS, so that credentials could be read on their way: "
                 "expected tls:// or https://";
}

enum { URI_BYTES = 160 };

// Returns whether an earlier listener has the same address. Port 0 means another free port each time, so it never
// repeats.
static bool is_repeated(const struct config *config, uint32_t index, const char *uri) {
    char other[URI_BYTES];
    assert(index < config->listener_count);
    bool any_port = strlen(uri) > 2 && strcmp(uri + strlen(uri) - 2, ":0") == 0;
    for (uint32_t before = 0; before < index && !any_port; before++) {
        address_format(&config->listeners[before], other, sizeof other);
        const char *place = strstr(uri, "://"), *other_place = strstr(other, "://");
        assert(place && other_place);
        if (strcmp(place, other_place) == 0)
            return true;
    }
    return false;
}

static void judge_listeners(struct config *config) {
    char uri[URI_BYTES];
    if (!config_complete_listeners(config))
        return;
    for (uint32_t index = 0; index < config->listener_count; index++) {
        const char *lack = lack_of(config, &config->listeners[index]);
        const char *option = option_of_address(&config->listeners[index])->name;
        address_format(&config->listeners[index], uri, sizeof uri);
        if (is_repeated(config, index, uri))
            config_complain_of(config, option, "%s: expected an address that is given once", uri);
        if (lack)
            config_complain_of(config, option,
                               "%s can be reached %s, or --insecure, which serves it all the same", uri,
                               lack);
    }
}

// Checks that the options of TLS fit together. Without --tls-key, the key is in the certificate's file.
static void check_tls(struct config *config) {
    bool given = config->tls_certificate[0] != '\0', is_secure = false;
    if (given && !config->tls_key[0])
        memcpy(config->tls_key, config->tls_certificate, sizeof config->tls_key);
    for (uint32_t index = 0; index < config->listener_count; index++)
        is_secure |= config->listeners[index].secure;
    if (is_secure && !given)
        config_complain_of(config, "tls-certificate", "expected a file: an address is served over TLS");
    if (!given && config->tls_key[0])
        config_complain_of(config, "tls-key", "expected --tls-certificate beside it");
    if (!given && config->tls_clients[0])
        config_complain_of(config, "tls-clients", "expected --tls-certificate beside it");
}

// Checks that --max-memory suffices for the buffers that each shard lends to the kernel, and for as many bytes of
// frames.
static void check_memory(struct config *config) {
    assert(config->settings.shard_count > 0 && config->settings.shard_count <= SHARDS_MAX);
    uint64_t least = limits_memory_bytes_least(config->settings.shard_count);
    if (config->settings.limits.memory_bytes_max < least)
        config_complain_of(config, "max-memory", "expected %lluM or more for %u shards",
                           (unsigned long long)(least >> 20), config->settings.shard_count);
}

static void choose_io(struct config *config) {
    assert(config->io <= CONFIG_IO_EPOLL);
    config->settings.io = config->io == CONFIG_IO_EPOLL ? IO_EPOLL : IO_URING;
}

static void check_features(struct config *config) {
    char fault[FEATURE_FAULT_BYTES];
    for (unsigned number = 0; number < FEATURES_MAX; number++) {
        const struct feature *feature = features_all[number];
        const char *option = feature && feature->check_settings
                                 ? feature->check_settings(&config->settings, config->insecure, fault)
                                 : NULL;
        if (option)
            config_complain_of(config, option, "%s", fault);
    }
}

enum config_result config_read(struct config *config, int argc, char **argv, uint32_t cores) {
    *config = (struct config){.settings.shard_count = cores < SHARDS_MAX ? cores : SHARDS_MAX};
    config->given_last = &config->given;
    limits_defaults(&config->settings.limits);
    config_set_presets(config);
    const char *question = take_arguments(config, argc, argv);
    if (question && config->faults == 0) {
        show(question);
        return CONFIG_SHOWN;
    }
    config->settings.journal = config->journal[0] ? config->journal : NULL;
    choose_io(config);
    check_memory(config);
    judge_listeners(config);
    check_tls(config);
    check_features(config);
    return config->faults == 0 ? CONFIG_RUN : CONFIG_BAD;
}

void config_drop(struct config *config) {
    for (unsigned number = 0; number < FEATURES_MAX; number++)
        if (features_all[number] && features_all[number]->drop_settings)
            features_all[number]->drop_settings(&config->settings);
}

void config_deinit(struct config *config) {
    for (struct config_given *given = config->given, *next; given; given = next) {
        next = given->next;
        free(given);
    }
    config->given = NULL;
    config->given_last = &config->given;
    child_settings_drop(config->section);
    child_settings_drop_all(config->settings.children);
    config->section = NULL;
    config->settings.children = NULL;
    config_drop(config);
}

// --- SIGHUP

static bool is_same_address(const struct address *one, const struct address *other) {
    char uri[160], other_uri[160];
    address_format(one, uri, sizeof uri);
    address_format(other, other_uri, sizeof other_uri);
    return strcmp(uri, other_uri) == 0 && one->mode == other->mode && strcmp(one->group, other->group) == 0;
}

// Returns the next listener that the option gives, from *at on, and moves *at behind it; or NULL.
static const struct address *next_listener(const struct config *config, const struct option *option,
                                           uint32_t *at) {
    assert(option->kind == OPTION_LISTEN || option->kind == OPTION_ADDRESS);
    while (*at < config->listener_count) {
        const struct address *address = &config->listeners[(*at)++];
        if (option_of_address(address) == option)
            return address;
    }
    return NULL;
}

static bool are_same_listeners(const struct option *option, const struct config *now,
                               const struct config *fresh) {
    const struct address *one, *other;
    uint32_t at = 0, fresh_at = 0;
    do {
        one = next_listener(now, option, &at);
        other = next_listener(fresh, option, &fresh_at);
    } while (one && other && is_same_address(one, other));
    return !one && !other;
}

// Returns the text of the last source that gave the option, or "".
static const char *given_text(const struct config *config, const struct option *option) {
    const char *text = "";
    for (const struct config_given *given = config->given; given; given = given->next)
        text = given->option == option ? given->value : text;
    return text;
}

// Returns whether both configurations have the same value of an option that SIGHUP can't change.
static bool is_same(const struct option *option, const struct config *now, const struct config *fresh) {
    assert(option->offset + option->bytes <= sizeof *now);
    switch (option->kind) {
    case OPTION_LISTEN:
    case OPTION_ADDRESS:
        return are_same_listeners(option, now, fresh);
    case OPTION_TEXT:
        if (option->computed) // the value may have been computed from another option
            return strcmp(given_text(now, option), given_text(fresh, option)) == 0;
        return strcmp((const char *)now + option->offset, (const char *)fresh + option->offset) == 0;
    case OPTION_PARSED:
        return strcmp(given_text(now, option), given_text(fresh, option)) == 0;
    default:
        return memcmp((const char *)now + option->offset, (const char *)fresh + option->offset,
                      option->bytes) == 0;
    }
}

// Returns whether an option has another value that can't take effect before the next start. The start decides whether
// there is a users file; each SIGHUP reads the file again.
static bool is_fixed(const struct option *option, const struct config *now, const struct config *fresh) {
    if (option->offset == offsetof(struct config, users) && option->kind == OPTION_TEXT)
        return (now->users[0] == '\0') != (fresh->users[0] == '\0');
    bool is_read_again = option->traits & (OPTION_RELOADS | OPTION_ARGUMENT);
    return !is_read_again && !is_same(option, now, fresh);
}

static void mention(const struct config *fresh, const char *option) {
    const struct config_place place = config_place_of(fresh, option);
    const struct log_field line = place.line ? log_number(place.line) : log_unknown();
    log_write(LOG_CONFIG_WARNING, LOG_FIELDS(log_text(place.file), line, log_text(option)),
              "--%s takes effect at the next start", option);
}

void config_mention_fixed(const struct config *now, const struct config *fresh) {
    size_t count;
    const struct option *options = options_all(&count);
    for (size_t at = 0; at < count; at++)
        if (is_fixed(&options[at], now, fresh))
            mention(fresh, options[at].name);
}

void config_mention_in_effect(void *context) {
    (void)context;
    log_write(LOG_RELOADED, LOG_NO_FIELDS, "the configuration was read again");
}

// --- Files

enum { FILE_BYTES_MAX = 4 << 20 };

enum part { PART_OPTIONS, PART_CHILD, PART_SKIPPED };

// The state of reading a file.
struct reading {
    struct config *config;
    enum part part;
    uint32_t section_line;   // the line on which the child's section begins
    uint32_t section_faults; // config.faults at the begin of the section
};

// --- Options and keys that were given

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
    assert(*child);
    struct config_given *given = malloc(sizeof *given + child_bytes + key_bytes);
    if (!given)
        return config_complain(config, key, "memory is used up");
    *given = (struct config_given){0};
    given->child = memcpy(given->value, child, child_bytes);
    given->key = memcpy(given->value + child_bytes, key, key_bytes);
    keep_given(config, given);
    return true;
}

// Returns the line of this file that has given the option before; 0: there is none.
static uint32_t line_given_here(const struct config *config, const struct option *option) {
    assert(!(option->traits & OPTION_REPEATS));
    for (const struct config_given *given = config->given; given; given = given->next)
        if (given->option == option && given->source == config->source)
            return given->line;
    return 0;
}

// Returns where a key of a child's section was given, or with the key "" where the section begins; NULL: nowhere.
static const struct config_given *find_key(const struct config *config, const char *child, const char *key) {
    const struct config_given *given = config->given;
    while (given && !(given->child && strcmp(given->child, child) == 0 && strcmp(given->key, key) == 0))
        given = given->next;
    return given;
}

// --- Lines

static void take_key(struct config *config, const struct ini_line *line) {
    assert(line->kind == INI_KEY && line->value);
    const struct option *option = option_find(line->key);
    const char *value = ini_unquote(line->value);
    uint32_t given_line = option && !(option->traits & OPTION_REPEATS) ? line_given_here(config, option) : 0;
    if (!option) {
        config_complain(config, ini_shown_key(line->key),
                        "expected a key that there is; patchbayd --help lists them");
    } else if (option->traits & OPTION_ARGUMENT) {
        config_complain(config, line->key, "expected --%s on the command line: no file may have the key",
                        line->key);
    } else if (given_line > 0) {
        config_complain(config, line->key, "expected a key that is given once: line %u gives it, too",
                        given_line);
    } else if (option->traits & OPTION_SECRET && config_is_hidden(value)) {
        config_complain(config, line->key, "expected a value: *** stands for a secret that was not shown");
    } else if (config_note(config, option, value)) {
        config_set(config, option, value);
    }
}

// Returns whether a key of a child's section sets a variable of the environment.
static bool is_variable(const char *key) {
    return strncmp(key, "set", 3) == 0 && (key[3] == ' ' || key[3] == '\t');
}

// Returns whether a value of this key may have ` ;`, which elsewhere begins a comment. A shell reads the character in a
// command, and the program in a variable.
static bool may_have_semicolon(const char *key) {
    return strcmp(key, "command") == 0 || is_variable(key);
}

// Returns the part of a key of a child's section that a fault may show, as ini_shown_key does, and a variable's name.
static const char *shown_child_key(char *key) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    enum { NAME_BYTES_MAX = 64 };
    assert(*key);
    size_t word = is_variable(key) ? 3 : strncmp(key, "secret", 6) == 0 ? 6 : 0;
    const char *name = key + word + strspn(key + word, " \t");
    size_t bytes = strspn(name, letters);
    bool is_name = name > key + word && word > 0 && bytes > 0 && bytes <= NAME_BYTES_MAX && !name[bytes];
    return is_name ? key : ini_shown_key(key);
}

static bool was_hidden(const char *key, const char *value) {
    return is_variable(key) ? strcmp(value, CONFIG_HIDDEN) == 0
                            : !strcmp(key, "command") && config_is_hidden(value);
}

static void take_child_key(struct config *config, const struct ini_line *line) {
    assert(config->section && line->kind == INI_KEY);
    const char *child = config->section->name;
    const struct config_given *given = find_key(config, child, line->key);
    const char *value = may_have_semicolon(line->key) ? line->value : ini_unquote(line->value);
    const char *expected = was_hidden(line->key, value)
                               ? "a value: " CONFIG_HIDDEN " stands for one that was not shown"
                               : child_section_set(config->section, line->key, value);
    bool may_show = child_settings_may_show(line->key);
    note_child(config, child, line->key);
    if (expected && given)
        config_complain(config, shown_child_key(line->key),
                        "expected a key that is given once: line %u gives it, too", given->line);
    else if (expected)
        config_complain_of_value(config, shown_child_key(line->key), may_show ? value : NULL, expected);
}

static void end_section(struct reading *reading) {
    struct config *config = reading->config;
    if (reading->part == PART_CHILD && config->faults > reading->section_faults) {
        child_settings_drop(config->section);
        config->section = NULL;
    } else if (reading->part == PART_CHILD) {
        char name[AGENT_ID_BYTES_MAX + 1];
        strcpy(name, config->section->name);
        const char *expected = child_section_end(&config->settings.children, config->section);
        config->section = NULL;
        config->line = reading->section_line;
        if (expected)
            config_complain(config, name, "expected %s", expected);
    }
    reading->part = PART_SKIPPED;
}

static void begin_section(struct reading *reading, char *section) {
    static const char kind[] = "child";
    struct config *config = reading->config;
    size_t blanks =
        strncmp(section, kind, sizeof kind - 1) == 0 ? strspn(section + sizeof kind - 1, " \t") : 0;
    reading->section_line = config->line;
    reading->section_faults = config->faults;
    if (blanks == 0) {
        config_complain(config, ini_shown_key(section), "expected [child NAME]: there are no other sections");
        return;
    }
    const char *name = section + sizeof kind - 1 + blanks;
    const struct config_given *given = find_key(config, name, "");
    if (given) {
        config_complain(config, section, "expected a child that is named once: line %u%s names it, too",
                        given->line, given->source == config->source ? "" : " of another file");
        return;
    }
    const char *expected = child_section_begin(config->settings.children, name, &config->section);
    if (expected) {
        config_complain(config, kind, "expected %s", expected);
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
    assert(config->source == 0); // a file can't name another file
    if (config->files == CONFIG_FILES_MAX)
        return config_complain(config, "config", "expected 16 files at most");
    int file = plain_file_open(path);
    char *text = file < 0 ? NULL : malloc(FILE_BYTES_MAX + 2);
    int error = file < 0 ? -file : text ? read_all(file, text, &bytes) : ENOMEM;
    if (file >= 0)
        close(file);
    config->files_read[config->files] = path;
    if (error)
        config_complain(config, "config", "%s: expected a regular file of up to 4M that can be read: %s",
                        path, error == EFBIG ? "it is larger" : plain_file_why(error));
    config->source = ++config->files;
    config->line = 0;
    if (!error)
        read_lines(config, text, bytes);
    config->source = config->line = 0;
    if (text)
        digest_wipe(text, bytes); // the text may hold secrets of children
    free(text);
    return config->faults == faults;
}

// --- The configuration in force

enum { PLACE_BYTES = 512, VALUE_BYTES = 16 << 10 };

// --- The source of a value

// Writes the source of a value for a comment. Replaces bytes of the file's name that would end the comment, or a value
// in quotes before it.
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

// Replaces the text before the last @ of each URL by `***`.
static void hide_credentials(const char *urls, char *out, size_t capacity) {
    size_t used = 0;
    assert(capacity > 0);
    out[0] = '\0';
    for (size_t bytes; *urls && used < capacity; urls += bytes + (urls[bytes] == ',')) {
        bytes = strcspn(urls, ",");
        const char *scheme = memmem(urls, bytes, "://", 3), *begin = scheme ? scheme + 3 : urls;
        const char *at = memrchr(begin, '@', bytes - (size_t)(begin - urls)), *rest = at ? at : begin;
        used += (size_t)snprintf(out + used, capacity - used, "%s%.*s%s%.*s", used ? "," : "",
                                 (int)(begin - urls), urls, at ? CONFIG_HIDDEN : "",
                                 (int)(urls + bytes - rest), rest);
    }
}

static bool is_blank(char byte) {
    return byte == ' ' || byte == '\t' || byte == '\r';
}

// Returns whether a value must be in quotes: a comment would begin in the value, the value begins with quotes, or
// blanks at its ends would be removed.
static bool needs_quotes(const char *value) {
    size_t bytes = strlen(value);
    bool has_blanks = bytes > 0 && (is_blank(*value) || is_blank(value[bytes - 1]));
    return has_blanks || *value == '"' || *value == ';' || strstr(value, " ;") || strstr(value, "\t;");
}

// Writes the command line to `out` without its secrets. Returns the text to show; the caller must deinit `out`.
static const char *hide_in_command(const char *command, struct text *out) {
    text_init(out);
    log_hide_command(command, out);
    text_add(out, "", 1);
    return out->failed ? CONFIG_HIDDEN : out->bytes;
}

static void print_value(const struct option *option, const char *value, const char *place) {
    char hidden[VALUE_BYTES];
    struct text command = {0};
    if (option->traits & OPTION_SECRET) {
        hide_credentials(value, hidden, sizeof hidden);
        hidden[log_hide_named(hidden, strlen(hidden))] = '\0';
        value = hidden;
    } else if (option->traits & OPTION_CHILD) {
        value = hide_in_command(value, &command);
    }
    const char *quote = needs_quotes(value) ? "\"" : "";
    printf("%s = %s%s%s ; %s\n", option->name, quote, value, quote, place);
    text_deinit(&command);
}

// --- Options

// Finds the last place that gave the option. Returns false if there is none.
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
    assert(last->option == option);
    for (const struct config_given *given = config->given; given; given = given->next) {
        bool counts =
            option->traits & OPTION_ADDS || (repeats ? given->source == last->source : given == last);
        if (given->option != option || !counts)
            continue;
        write_place(config, given->source, given->line, place);
        print_value(option, given->value, place);
    }
}

static void print_listeners(const struct config *config, const struct option *option) {
    char uri[160];
    uint32_t at = 0;
    const struct address *address = next_listener(config, option, &at);
    if (!address && option->kind == OPTION_ADDRESS)
        print_value(option, "off", "default");
    for (; address; address = next_listener(config, option, &at)) {
        address_format(address, uri, sizeof uri);
        print_value(option, uri, "default");
    }
}

static void print_default(const struct config *config, const struct option *option) {
    char text[160];
    const char *value = option->preset;
    if (option->kind == OPTION_LISTEN || option->kind == OPTION_ADDRESS) {
        print_listeners(config, option);
        return;
    }
    if (option->kind == OPTION_COUNT && !value) {
        snprintf(text, sizeof text, "%u", config->settings.shard_count);
        value = text;
    } else if (option->kind == OPTION_TEXT && ((const char *)config)[option->offset]) {
        value = (const char *)config + option->offset; // the value was computed from another option
    }
    if (value)
        print_value(option, value, "default");
    else
        printf("; %s = ; default\n", option->name);
}

// --- Children

static void print_key(const struct config *config, const struct child_settings *child, const char *key,
                      const char *value) {
    char place[4 * PLACE_BYTES + 16];
    const struct config_given *given = find_key(config, child->name, key);
    struct text command = {0};
    assert(*key);
    const char *quote = !may_have_semicolon(key) && needs_quotes(value) ? "\"" : "";
    const char *shown = strcmp(key, "command") == 0 ? hide_in_command(value, &command)
                        : is_variable(key)          ? CONFIG_HIDDEN
                                                    : value;
    if (given) {
        write_place(config, given->source, given->line, place);
        printf("; %s\n", place);
    }
    printf("%s = %s%s%s\n", key, quote, shown, quote);
    text_deinit(&command);
}

// Prints the section of a child. Does nothing for a child of --extension, which is printed as an option.
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
    for (const struct child_settings *child = config->settings.children; child; child = child->next)
        print_child(config, child);
}
