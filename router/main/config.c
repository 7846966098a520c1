#include "router/main/config.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/log.h"
#include "router/main/config_cluster.h"
#include "router/main/config_fault.h"
#include "router/main/config_file.h"
#include "router/main/config_options.h"
#include "router/main/config_values.h"

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

// Names a word that is no option by its name alone. Any other word may hold a secret, and is named by its place: 1 is the first.
static void complain_of_word(struct config *config, const char *word, int at) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    assert(at > 0);
    size_t bytes = strncmp(word, "--", 2) == 0 ? strspn(word, letters) : 0;
    if (bytes > 0 && bytes < 64 && (word[bytes] == '\0' || word[bytes] == '='))
        config_complain(config, NULL, "%.*s: expected an option; --help lists them", (int)bytes, word);
    else
        config_complain(config, NULL, "argument %d: expected an option; --help lists them", at);
}

// Takes one option at argv[*at], as `--name value` or `--name=value`, and moves *at behind it.
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

// Help or the version, where it is asked for.
static bool show(const char *word) {
    bool is_help = strcmp(word, "--help") == 0, is_version = strcmp(word, "--version") == 0;
    if (is_help)
        show_help();
    if (is_version)
        puts("patchbayd " PATCHBAY_VERSION);
    return is_help || is_version;
}

// --- What goes together

// Returns the protection that an address lacks which others can reach; NULL if it lacks none, or others can't reach it.
// A socket's file that all users of the machine may open counts as reachable.
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

const char *config_option_of_listener(const struct config *config, uint32_t index) {
    assert(index < config->listener_count);
    return index + 1 == config->listener_count && config->http.transport[0] ? "http" : "listen";
}

enum { URI_BYTES = 160 };

// Whether the address stands before this one, too. Any port that is free is another one each time.
static bool is_repeated(const struct config *config, uint32_t index, const char *uri) {
    char other[URI_BYTES];
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
        const char *option = config_option_of_listener(config, index);
        address_format(&config->listeners[index], uri, sizeof uri);
        if (is_repeated(config, index, uri))
            config_complain_of(config, option, "%s: expected an address that is given once", uri);
        if (lack)
            config_complain_of(config, option, "%s can be reached %s; --insecure serves it all the same", uri,
                               lack);
    }
}

// The key may be in the certificate's file.
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

// Memory must suffice for the buffers that each shard lends to the kernel, and for as many bytes of frames.
static void check_memory(struct config *config) {
    assert(config->settings.shard_count > 0 && config->settings.shard_count <= SHARDS_MAX);
    uint64_t least = limits_memory_bytes_least(config->settings.shard_count);
    if (config->settings.limits.memory_bytes_max < least)
        config_complain_of(config, "max-memory", "%u shards need %lluM at least",
                           config->settings.shard_count, (unsigned long long)(least >> 20));
}

static void choose_io(struct config *config) {
    config->settings.io = config->io == CONFIG_IO_EPOLL ? IO_EPOLL : IO_URING;
}

enum config_result config_read(struct config *config, int argc, char **argv, uint32_t cores) {
    *config = (struct config){.settings.shard_count = cores < SHARDS_MAX ? cores : SHARDS_MAX};
    config->given_last = &config->given;
    limits_defaults(&config->settings.limits);
    config_set_presets(config);
    for (int at = 1; at < argc;) {
        if (show(argv[at]))
            return CONFIG_SHOWN;
        take_argument(config, argc, argv, &at);
    }
    config->settings.journal = config->journal[0] ? config->journal : NULL;
    choose_io(config);
    check_memory(config);
    judge_listeners(config);
    check_tls(config);
    config_check_cluster(config);
    return config->faults == 0 ? CONFIG_RUN : CONFIG_BAD;
}

void config_deinit(struct config *config) {
    for (struct config_given *given = config->given, *next; given; given = next) {
        next = given->next;
        free(given);
    }
    config->given = NULL;
    config->given_last = &config->given;
    config_children_deinit(&config->children);
}

// --- SIGHUP

static bool is_same_address(const struct address *one, const struct address *other) {
    char uri[160], other_uri[160];
    address_format(one, uri, sizeof uri);
    address_format(other, other_uri, sizeof other_uri);
    return strcmp(uri, other_uri) == 0 && one->mode == other->mode && strcmp(one->group, other->group) == 0;
}

static bool has_http(const struct config *config) {
    return config->http.transport[0] != '\0';
}

static bool are_same_listeners(const struct config *now, const struct config *fresh) {
    uint32_t count = now->listener_count - has_http(now);
    bool same = count == fresh->listener_count - has_http(fresh);
    for (uint32_t index = 0; same && index < count; index++)
        same = is_same_address(&now->listeners[index], &fresh->listeners[index]);
    return same;
}

static bool is_same_http(const struct config *now, const struct config *fresh) {
    return has_http(now) == has_http(fresh) && (!has_http(now) || is_same_address(&now->http, &fresh->http));
}

// The text that an option was given last, or "".
static const char *given_text(const struct config *config, const struct option *option) {
    const char *text = "";
    for (const struct config_given *given = config->given; given; given = given->next)
        text = given->option == option ? given->value : text;
    return text;
}

// Whether an option that SIGHUP doesn't take up is as it was.
static bool is_same(const struct option *option, const struct config *now, const struct config *fresh) {
    assert(option->offset + option->bytes <= sizeof *now);
    switch (option->kind) {
    case OPTION_LISTEN:
        return are_same_listeners(now, fresh);
    case OPTION_HTTP:
        return is_same_http(now, fresh);
    case OPTION_TEXT:
        return strcmp((const char *)now + option->offset, (const char *)fresh + option->offset) == 0;
    case OPTION_NATS:
    case OPTION_CLUSTER:
        return config_is_same_cluster(now, fresh) ||
               strcmp(given_text(now, option), given_text(fresh, option)) == 0;
    default:
        return memcmp((const char *)now + option->offset, (const char *)fresh + option->offset,
                      option->bytes) == 0;
    }
}

// Whether there are users is decided at start; who they are, at each SIGHUP.
static bool is_fixed(const struct option *option, const struct config *now, const struct config *fresh) {
    if (option->offset == offsetof(struct config, users) && option->kind == OPTION_TEXT)
        return (now->users[0] == '\0') != (fresh->users[0] == '\0');
    // The name of a hub without a cluster means nothing, and has no default.
    bool has_cluster = now->cluster.name[0] != '\0' && fresh->cluster.name[0] != '\0';
    if (option->offset == offsetof(struct config, cluster.hub_name) && !has_cluster)
        return false;
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
