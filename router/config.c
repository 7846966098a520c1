#include "router/config.h"

#include <assert.h>
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/units.h"
#include "io/plain_file.h"
#include "router/config_cluster.h"
#include "router/config_options.h"
#include "router/features/http/http_transport.h"
#include "router/features/http/transport_table.h"

#define DEFAULT_TCP  "tcp://127.0.0.1:7411"
#define DEFAULT_HTTP "127.0.0.1:7412"
enum { DEFAULT_HOLD_NS = 100000 };

// --- Values

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

static bool set_text(struct config *config, const struct option *option, const char *text,
                     const char *expected) {
    size_t bytes = strlen(text) + 1;
    assert(option->offset + option->bytes <= sizeof *config);
    if (bytes == 1 || bytes > option->bytes)
        return config_complain(option->name, text, expected);
    memcpy((char *)config + option->offset, text, bytes);
    return true;
}

static bool set_sandbox(struct config *config, const char *text) {
    enum sandbox_mode *mode = &config->settings.sandbox.mode;
    *mode = !strcmp(text, "required") ? SANDBOX_REQUIRED : !strcmp(text, "on") ? SANDBOX_ON : SANDBOX_OFF;
    return *mode != SANDBOX_OFF || !strcmp(text, "off") ||
           config_complain("sandbox", text, "off, on or required");
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
    const struct transport *transport =
        address_parse(address, uri) ? NULL : transport_table_find(address->transport);
    if (!transport || transport == &transport_http)
        return config_complain(
            "listen", uri,
            "tcp://HOST:PORT, tls://HOST:PORT or unix:///PATH, perhaps with -lines behind the scheme");
    config->listener_count++;
    return true;
}

static bool set_http(struct config *config, const char *text) {
    char uri[128] = "";
    config->http_given = true;
    config->http = (struct address){0};
    if (strcmp(text, "off") == 0)
        return true;
    const char *scheme = strstr(text, "://") ? "" : "http://";
    bool fits = (size_t)snprintf(uri, sizeof uri, "%s%s", scheme, text) < sizeof uri;
    return (fits && address_parse(&config->http, uri) == 0 &&
            transport_table_find(config->http.transport) == &transport_http) ||
           config_complain("http", text, "HOST:PORT, https://HOST:PORT or off");
}

// One source may name several, which replace what another one named before.
static bool set_allowed(struct config *config, const struct option *option, const char *name) {
    bool hosts = option->offset == offsetof(struct config, settings.hosts);
    struct allowlist *allowed = hosts ? &config->settings.hosts : &config->settings.origins;
    uint32_t *from = hosts ? &config->hosts_from : &config->origins_from;
    if (*from != config->source)
        allowed->count = 0;
    *from = config->source;
    return allowlist_add(allowed, name) || config_complain(option->name, name, "one of 16 names at most");
}

static bool set_io(struct config *config, const char *text) {
    config->io_fixed = strcmp(text, "auto") != 0;
    config->settings.io = strcmp(text, "epoll") == 0 ? IO_EPOLL : IO_URING;
    return !config->io_fixed || !strcmp(text, "uring") || !strcmp(text, "epoll") ||
           config_complain("io", text, "uring, epoll or auto");
}

static bool read_file(struct config *config, const char *path);

static bool set_gate(struct config *config, const struct option *option, const char *text) {
    enum governance level = governance_parse(text, strlen(text));
    bool off = !strcmp(text, "off");
    config->settings.gate = off ? 0 : level;
    return off || level == GOVERNANCE_HUMAN || level == GOVERNANCE_MANUAL ||
           config_complain(option->name, text, "human-in-the-loop, manual or off");
}

static bool set(struct config *config, const struct option *option, const char *text) {
    switch (option->kind) {
    case OPTION_LISTEN:
        return set_listener(config, text);
    case OPTION_HTTP:
        return set_http(config, text);
    case OPTION_ALLOW:
        return set_allowed(config, option, text);
    case OPTION_VALIDATE:
        config->settings.strict = !strcmp(text, "strict");
        return config->settings.strict || !strcmp(text, "lazy") ||
               config_complain(option->name, text, "lazy or strict");
    case OPTION_GATE:
        return set_gate(config, option, text);
    case OPTION_HALF_CLOSE:
        config->settings.half_close_leaves = !strcmp(text, "leave");
        return config->settings.half_close_leaves || !strcmp(text, "answer") ||
               config_complain(option->name, text, "answer or leave");
    case OPTION_PATH:
        return set_text(config, option, text, "a path");
    case OPTION_USER:
        return set_text(config, option, text, "a user's name");
    case OPTION_NATS:
        return config_nats(config, text);
    case OPTION_CLUSTER:
        return config_cluster(config, text);
    case OPTION_SANDBOX:
        return set_sandbox(config, text);
    case OPTION_EXTENSION:
        return config_extension(&config->children, text);
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
    const struct option *option = option_find(name);
    if (option && option->kind != OPTION_CONFIG)
        return set(context, option, value);
    fprintf(stderr, "patchbayd: unknown key '%s'\n", name);
    return 0;
}

static bool read_file(struct config *config, const char *path) {
    assert(config->source == 0); // a file names no other one
    if (config->files == CONFIG_FILES_MAX)
        return config_complain("config", path, "one of 16 files at most");
    int descriptor = plain_file_open(path);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "r");
    if (descriptor < 0)
        errno = -descriptor;
    else if (!file)
        close(descriptor);
    config->files_read[config->files] = path;
    config->source = ++config->files;
    struct config_lines lines = {.children = &config->children, .file = file};
    int line = file ? ini_parse_stream(config_read_line, &lines, set_key, config) : 0;
    bool children = config_end_section(&lines);
    config->source = 0;
    bool unread = !file || ferror(file);
    if (unread)
        fprintf(stderr, "patchbayd: can't read %s: %s\n", path, strerror(errno));
    else if (!children || (line != 0 && lines.fault))
        fprintf(stderr, "patchbayd: %s:%d can't be used: %s\n", path, lines.count, lines.fault);
    else if (line != 0)
        fprintf(stderr, "patchbayd: %s:%d can't be used\n", path, line);
    if (file)
        fclose(file);
    return !unread && line == 0 && children;
}

// --- The command line

static void show_help(void) {
    puts("patchbayd: carries JSON-RPC messages between agents\n\nusage: patchbayd [--OPTION VALUE]...\n");
    options_show();
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
    const struct option *option = bytes < sizeof name ? option_find(name) : NULL;
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

// HTTP is the last listener, where there is one.
static bool complete_listeners(struct config *config) {
    char uri[160];
    if (config->listener_count == 0) {
        if (address_default_unix(uri, sizeof uri) || !set_listener(config, DEFAULT_TCP) ||
            !set_listener(config, uri))
            return config_complain("listen", "the default Unix socket", "a path that is short enough");
        if (!config->http_given && !set_http(config, DEFAULT_HTTP))
            return false;
    }
    if (!config->http.transport[0])
        return true;
    if (config->listener_count == LISTENERS_MAX)
        return config_complain("http", "it", "one of 16 listeners at most");
    config->listeners[config->listener_count++] = config->http;
    return true;
}

// What an address that others can reach lacks; NULL: nothing, or they can't. Not only the user's own is a socket's file that
// all users of the machine may open.
static const char *lack_of(const struct config *config, const struct address *address) {
    bool local = address_is_local(address), shared = address->mode & S_IRWXO;
    if (config->insecure || (local && !shared))
        return NULL;
    if (!config->users[0])
        return local ? "by all users of this machine and there is no authentication"
                     : "from other machines and there is no authentication";
    return local || address->secure
               ? NULL
               : "from other machines and there is no TLS, so that credentials could be read on their way";
}

static bool check_listeners(struct config *config) {
    char uri[160];
    if (!complete_listeners(config))
        return false;
    for (uint32_t index = 0; index < config->listener_count; index++) {
        const char *lack = lack_of(config, &config->listeners[index]);
        if (!lack)
            continue;
        address_format(&config->listeners[index], uri, sizeof uri);
        fprintf(stderr, "patchbayd: %s can be reached %s; --insecure serves it all the same\n", uri, lack);
        return false;
    }
    return true;
}

// The key may be in the certificate's file.
static bool check_tls(struct config *config) {
    bool given = config->tls_certificate[0] != '\0';
    if (given && !config->tls_key[0])
        memcpy(config->tls_key, config->tls_certificate, sizeof config->tls_key);
    for (uint32_t index = 0; !given && index < config->listener_count; index++) {
        if (!config->listeners[index].secure)
            continue;
        fputs("patchbayd: TLS needs --tls-certificate\n", stderr);
        return false;
    }
    if (given || (!config->tls_key[0] && !config->tls_clients[0]))
        return true;
    fputs("patchbayd: --tls-key and --tls-clients mean nothing without --tls-certificate\n", stderr);
    return false;
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
    *config = (struct config){.settings.shard_count = cores < SHARDS_MAX ? cores : SHARDS_MAX,
                              .settings.hold_ns = DEFAULT_HOLD_NS,
                              .settings.sandbox.mode = SANDBOX_DEFAULT};
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
    config->settings.journal = config->journal[0] ? config->journal : NULL;
    return check_memory(config) && check_listeners(config) && check_tls(config) &&
                   config_check_cluster(config)
               ? CONFIG_RUN
               : CONFIG_BAD;
}

void config_mention_fixed(const struct config *now, const struct config *fresh) {
    bool same = now->listener_count == fresh->listener_count &&
                now->settings.shard_count == fresh->settings.shard_count &&
                now->settings.limits.connections_max == fresh->settings.limits.connections_max &&
                now->io_fixed == fresh->io_fixed && strcmp(now->journal, fresh->journal) == 0;
    same &= now->settings.sandbox.mode == fresh->settings.sandbox.mode && strcmp(now->user, fresh->user) == 0;
    same &=
        now->settings.spin_ns == fresh->settings.spin_ns && now->settings.hold_ns == fresh->settings.hold_ns;
    same &= now->settings.share_addresses == fresh->settings.share_addresses;
    same &= now->settings.gate == fresh->settings.gate && config_is_same_cluster(now, fresh);
    if (now->io_fixed)
        same &= now->settings.io == fresh->settings.io;
    for (uint32_t index = 0; same && index < now->listener_count; index++) {
        char uri[160], fresh_uri[160];
        address_format(&now->listeners[index], uri, sizeof uri);
        address_format(&fresh->listeners[index], fresh_uri, sizeof fresh_uri);
        same = strcmp(uri, fresh_uri) == 0 && now->listeners[index].mode == fresh->listeners[index].mode &&
               strcmp(now->listeners[index].group, fresh->listeners[index].group) == 0;
    }
    if (!same)
        fputs("patchbayd: --listen, --http, --share-addresses, --shards, --io, --spin, --coalesce, --user, "
              "--sandbox, "
              "--audit, --nats, --nats-credentials, --nats-ca, --cluster and --max-connections "
              "take effect at the next start\n",
              stderr);
}

void config_mention_in_effect(void *context) {
    (void)context;
    fputs("patchbayd: the configuration was read again\n", stderr);
}
