#include "router/config.h"

#include <assert.h>
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <string.h>

#include "core/base/units.h"
#include "router/shard/transport.h"

#define DEFAULT_TCP "tcp://127.0.0.1:7411"

// --- The table of options

enum option_kind {
    OPTION_LISTEN,
    OPTION_VALIDATE,
    OPTION_HALF_CLOSE,
    OPTION_AUDIT,
    OPTION_IO,
    OPTION_SPIN,
    OPTION_FLAG,
    OPTION_COUNT,
    OPTION_SIZE,
    OPTION_TIME,
    OPTION_CONFIG
};

struct option {
    const char *name;
    enum option_kind kind;
    size_t offset; // of the field in struct config
    size_t bytes;  // of the field
    uint64_t min, max;
    const char *help;
};

#define FIELD(member) offsetof(struct config, member), sizeof(((struct config *)NULL)->member)
#define LIMIT(member) FIELD(settings.limits.member)
#define HOUR_NS       UINT64_C(3600000000000)

static const struct option options[] = {
    {"listen", OPTION_LISTEN, 0, 0, 0, 0,
     "URI: tcp://HOST:PORT or unix:///PATH, or tcp-lines:// or unix-lines:// for one JSON text a line; "
     "repeatable, replaces the defaults and those of --config"},
    {"shards", OPTION_COUNT, FIELD(settings.shard_count), 1, SHARDS_MAX, "N: threads (default: one a core)"},
    {"validate", OPTION_VALIDATE, 0, 0, 0, 0,
     "lazy or strict: judge of a body what routing reads, or all of it (lazy)"},
    {"audit", OPTION_AUDIT, 0, 0, 0, 0, "FILE: keep an audit journal there"},
    {"io", OPTION_IO, 0, 0, 0, 0, "uring, epoll, or auto: epoll where io_uring is refused (auto)"},
    {"spin", OPTION_SPIN, FIELD(settings.spin_ns), 0, 10000000,
     "TIME to look for work before sleeping, while the waits are that short, or off (off)"},
    {"half-close", OPTION_HALF_CLOSE, 0, 0, 0, 0,
     "answer or leave: a peer that ends its stream still gets its answers, or has left (answer)"},
    {"takeover", OPTION_FLAG, FIELD(settings.takeover), 0, 1,
     "a registration may take an agentId from its holder"},
    {"require-initialize", OPTION_FLAG, FIELD(settings.require_initialize), 0, 1,
     "refuse requests before initialize"},
    {"share-addresses", OPTION_FLAG, FIELD(settings.share_addresses), 0, 1,
     "let another hub take over: it listens beside this one, which steps aside at SIGTERM"},
    {"insecure", OPTION_FLAG, FIELD(insecure), 0, 1, "allow TCP addresses that other machines can reach"},
    {"config", OPTION_CONFIG, 0, 0, 0, 0, "FILE: read options from an INI file"},
    {"max-frame", OPTION_SIZE, LIMIT(frame_bytes_max), 1, 1u << 30, "SIZE of a body (16M)"},
    {"max-header", OPTION_SIZE, LIMIT(header_bytes_max), 64, 1u << 20, "SIZE of a header block (8K)"},
    {"max-queue", OPTION_SIZE, LIMIT(queue_bytes_max), 1, UINT64_C(1) << 40,
     "SIZE of what waits for one reader (4M)"},
    {"max-memory", OPTION_SIZE, LIMIT(memory_bytes_max), 1u << 24, UINT64_C(1) << 44,
     "SIZE of all buffers and of what peers have it keep, a quarter at most (1G); 3M a shard at least"},
    {"max-connections", OPTION_COUNT, LIMIT(connections_max), 1, 1u << 20, "N (65536)"},
    {"max-pending", OPTION_COUNT, LIMIT(pending_max), 1, 1u << 22, "N requests owed by one target (65536)"},
    {"max-batch", OPTION_COUNT, LIMIT(batch_members_max), 1, 1u << 20, "N members of one batch (1000)"},
    {"request-timeout", OPTION_TIME, LIMIT(request_timeout_ns), 1000000, 24 * HOUR_NS, "TIME (5m)"},
    {"frame-timeout", OPTION_TIME, LIMIT(frame_timeout_ns), 1000000, HOUR_NS,
     "TIME for a header block (10s)"},
    {"idle-timeout", OPTION_TIME, LIMIT(idle_timeout_ns), 0, 24 * HOUR_NS, "TIME, or off (off)"},
    {"drain-timeout", OPTION_TIME, LIMIT(drain_timeout_ns), 0, HOUR_NS,
     "TIME for what is pending at the end (5s)"},
};
enum { OPTIONS_COUNT = sizeof options / sizeof *options };

static const struct option *config_find(const char *name) {
    assert(name);
    for (size_t index = 0; index < OPTIONS_COUNT; index++)
        if (strcmp(options[index].name, name) == 0)
            return &options[index];
    return NULL;
}

static void store(struct config *config, const struct option *option, uint64_t value) {
    assert(option->bytes && option->offset + option->bytes <= sizeof *config);
    char *field = (char *)config + option->offset;
    uint32_t narrow = (uint32_t)value;
    bool flag = value != 0;
    if (option->bytes == sizeof value)
        memcpy(field, &value, sizeof value);
    else if (option->bytes == sizeof narrow)
        memcpy(field, &narrow, sizeof narrow);
    else
        memcpy(field, &flag, sizeof flag);
}

static bool config_complain(const char *name, const char *value, const char *expected) {
    fprintf(stderr, "patchbayd: --%s: '%s' is not %s\n", name, value, expected);
    return false;
}

static bool set_number(struct config *config, const struct option *option, const char *text) {
    assert(option->min <= option->max && text);
    bool time = option->kind == OPTION_TIME || option->kind == OPTION_SPIN;
    bool (*read)(const char *text, uint64_t *out) = option->kind == OPTION_SIZE ? units_size
                                                    : time                      ? units_time
                                                                                : units_count;
    uint64_t value = 0;
    bool off = time && option->min == 0 && (!strcmp(text, "off") || !strcmp(text, "0"));
    if (!off && !read(text, &value))
        return config_complain(option->name, text,
                               option->kind == OPTION_SIZE ? "a size such as 64K, 16M or 1G"
                               : time                      ? "a time such as 250ms, 5s or 10m"
                                                           : "a number");
    bool whole = option->kind != OPTION_TIME || value % 1000000 == 0; // timers count milliseconds
    if (value < option->min || value > option->max || !whole)
        return config_complain(option->name, text, "within its bounds");
    store(config, option, value);
    return true;
}

static bool set_flag(struct config *config, const struct option *option, const char *text) {
    assert(option->bytes == sizeof(bool));
    bool on =
        !text || !strcmp(text, "true") || !strcmp(text, "yes") || !strcmp(text, "on") || !strcmp(text, "1");
    bool off =
        text && (!strcmp(text, "false") || !strcmp(text, "no") || !strcmp(text, "off") || !strcmp(text, "0"));
    if (!on && !off)
        return config_complain(option->name, text, "true or false");
    store(config, option, on);
    return true;
}

static bool set_audit(struct config *config, const char *path) {
    size_t bytes = strlen(path) + 1;
    if (bytes == 1 || bytes > sizeof config->journal)
        return config_complain("audit", path, "a path");
    memcpy(config->journal, path, bytes);
    config->settings.journal = config->journal;
    return true;
}

// One source may name several, which replace what another one named before.
static bool set_listener(struct config *config, const char *uri) {
    assert(config->listener_count <= LISTENERS_MAX);
    if (config->listeners_from != config->source)
        config->listener_count = 0;
    config->listeners_from = config->source;
    if (config->listener_count == LISTENERS_MAX)
        return config_complain("listen", uri, "one of 16 at most");
    struct address *address = &config->listeners[config->listener_count];
    if (address_parse(address, uri) || !transport_find(address->transport))
        return config_complain("listen", uri,
                               "tcp://HOST:PORT or unix:///PATH, perhaps with -lines behind the scheme");
    config->listener_count++;
    return true;
}

static bool set_io(struct config *config, const char *text) {
    config->io_fixed = strcmp(text, "auto") != 0;
    config->settings.io = strcmp(text, "epoll") == 0 ? IO_EPOLL : IO_URING;
    return !config->io_fixed || !strcmp(text, "uring") || !strcmp(text, "epoll") ||
           config_complain("io", text, "uring, epoll or auto");
}

static bool read_file(struct config *config, const char *path);

static bool set(struct config *config, const struct option *option, const char *text) {
    switch (option->kind) {
    case OPTION_LISTEN:
        return set_listener(config, text);
    case OPTION_VALIDATE:
        config->settings.strict = !strcmp(text, "strict");
        return config->settings.strict || !strcmp(text, "lazy") ||
               config_complain(option->name, text, "lazy or strict");
    case OPTION_HALF_CLOSE:
        config->settings.half_close_leaves = !strcmp(text, "leave");
        return config->settings.half_close_leaves || !strcmp(text, "answer") ||
               config_complain(option->name, text, "answer or leave");
    case OPTION_AUDIT:
        return set_audit(config, text);
    case OPTION_IO:
        return set_io(config, text);
    case OPTION_FLAG:
        return set_flag(config, option, text);
    case OPTION_CONFIG:
        return read_file(config, text);
    default:
        return set_number(config, option, text);
    }
}

// --- The file

// inih calls this for each key; 0 stops with an error.
static int set_key(void *context, const char *section, const char *name, const char *value) {
    (void)section;
    const struct option *option = config_find(name);
    if (option && option->kind != OPTION_CONFIG)
        return set(context, option, value);
    fprintf(stderr, "patchbayd: unknown key '%s'\n", name);
    return 0;
}

// Gives inih a line without the blanks before it, for which inih would take it to go on with the value above.
// One that doesn't end in its room, or has a NUL, can't be used, unless it is a comment.
static char *read_line(char *line, int capacity, void *file) {
    assert(capacity > 1);
    if (!fgets(line, capacity, file))
        return NULL;
    bool whole = strchr(line, '\n') || feof(file);
    size_t blanks = strspn(line, " \t");
    memmove(line, line + blanks, strlen(line + blanks) + 1);
    if (whole)
        return line;
    if (strlen(line) + blanks + 1 == (size_t)capacity)
        for (int byte = 0; byte != '\n' && byte != EOF;)
            byte = fgetc(file);
    return *line == '#' || *line == ';' ? line : strcpy(line, "?");
}

static bool read_file(struct config *config, const char *path) {
    assert(config->source == 0); // a file names no other one
    FILE *file = fopen(path, "re");
    config->source = ++config->files;
    int line = file ? ini_parse_stream(read_line, file, set_key, config) : 0;
    config->source = 0;
    bool unread = !file || ferror(file);
    if (unread)
        fprintf(stderr, "patchbayd: can't read %s: %s\n", path, strerror(errno));
    else if (line != 0)
        fprintf(stderr, "patchbayd: %s:%d can't be used\n", path, line);
    if (file)
        fclose(file);
    return !unread && line == 0;
}

// --- The command line

static void show_help(void) {
    puts("patchbayd: carries JSON-RPC messages between agents\n\nusage: patchbayd [--OPTION VALUE]...\n");
    for (size_t index = 0; index < OPTIONS_COUNT; index++)
        printf("  --%-20s %s\n", options[index].name, options[index].help);
    puts("  --help, --version");
}

// Takes one option at argv[*at], as `--name value` or `--name=value`, and moves *at behind it.
static bool take_option(struct config *config, int argc, char **argv, int *at) {
    char name[32];
    assert(*at < argc);
    const char *word = argv[(*at)++];
    size_t bytes = strncmp(word, "--", 2) == 0 ? strcspn(word + 2, "=") : sizeof name;
    if (bytes < sizeof name) {
        memcpy(name, word + 2, bytes);
        name[bytes] = '\0';
    }
    const struct option *option = bytes < sizeof name ? config_find(name) : NULL;
    if (!option) {
        fprintf(stderr, "patchbayd: unknown option '%s'; --help lists them\n", word);
        return false;
    }
    const char *value = word[2 + bytes] == '=' ? word + 3 + bytes : NULL;
    if (!value && option->kind != OPTION_FLAG) {
        if (*at == argc) {
            fprintf(stderr, "patchbayd: --%s needs a value\n", name);
            return false;
        }
        value = argv[(*at)++];
    }
    return set(config, option, value);
}

static bool check_listeners(struct config *config) {
    char uri[160];
    if (config->listener_count == 0) {
        if (address_default_unix(uri, sizeof uri) || !set_listener(config, DEFAULT_TCP) ||
            !set_listener(config, uri))
            return config_complain("listen", "the default Unix socket", "a path that is short enough");
    }
    for (uint32_t index = 0; index < config->listener_count; index++) {
        if (config->insecure || address_is_local(&config->listeners[index]))
            continue;
        address_format(&config->listeners[index], uri, sizeof uri);
        fprintf(stderr,
                "patchbayd: %s can be reached from other machines and there is no authentication; "
                "--insecure serves it all the same\n",
                uri);
        return false;
    }
    return true;
}

// What a shard lends to the kernel must leave as much for the frames themselves.
static bool check_memory(const struct config *config) {
    assert(config->settings.shard_count > 0 && config->settings.shard_count <= SHARDS_MAX);
    uint64_t least = limits_memory_bytes_least(config->settings.shard_count);
    if (config->settings.limits.memory_bytes_max >= least)
        return true;
    fprintf(stderr, "patchbayd: --max-memory: %u shards need %lluM at least\n", config->settings.shard_count,
            (unsigned long long)(least >> 20));
    return false;
}

enum config_result config_read(struct config *config, int argc, char **argv, uint32_t cores) {
    *config = (struct config){.settings.shard_count = cores < SHARDS_MAX ? cores : SHARDS_MAX};
    limits_defaults(&config->settings.limits);
    for (int at = 1; at < argc;) {
        if (!strcmp(argv[at], "--help")) {
            show_help();
            return CONFIG_SHOWN;
        }
        if (!strcmp(argv[at], "--version")) {
            puts("patchbayd " PATCHBAY_VERSION);
            return CONFIG_SHOWN;
        }
        if (!take_option(config, argc, argv, &at))
            return CONFIG_BAD;
    }
    return check_memory(config) && check_listeners(config) ? CONFIG_RUN : CONFIG_BAD;
}
