#include "router/main/config_options.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "router/engine/shard/feature.h"
#include "router/engine/shard/transport.h"
#include "router/main/config_types.h"
#include "router/main/features.h"

#define FIELD(member) offsetof(struct config, member), sizeof(((struct config *)NULL)->member)
#define LIMIT(member) FIELD(settings.limits.member)

// A word's index is its value.
static const char *const depths[] = {"lazy", "strict", NULL};
static const char *const stream_ends[] = {"answer", "leave", NULL};
static const char *const backends[] = {"auto", "uring", "epoll", NULL};
static const char *const log_formats[] = {"text", "logfmt", "json", NULL};
static const char *const log_levels[] = {"error", "warning", "info", "debug", NULL};
static const char *const sandboxes[] = {"off", "on", "required", NULL};

static const struct option options[] = {
    {"listen", OPTION_LISTEN, OPTIONS_LISTENERS, OPTION_REPEATS, 0, 0, 0, 0, NULL, "URI", NULL,
     "tcp://127.0.0.1:7411 and a Unix socket of the user",
     "serve this address: tcp://HOST:PORT, tls://HOST:PORT or unix:///PATH[?mode=0660&group=NAME]; "
     "tcp-lines://, tls-lines:// and unix-lines:// carry one JSON text a line; repeatable; addresses given "
     "later, "
     "in another file or on the command line, replace earlier ones and the defaults"},
    {"insecure", OPTION_FLAG, OPTIONS_ADDRESSES, 0, FIELD(insecure), 0, 1, NULL, NULL, "no", NULL,
     "serve and use addresses that others can reach, even without the users or TLS that these need"},
    {"share-addresses", OPTION_FLAG, OPTIONS_ADDRESSES, 0, FIELD(settings.share_addresses), 0, 1, NULL, NULL,
     "no", NULL, "let another hub listen on the same addresses; this hub hands them over at SIGTERM"},
    {"tls-certificate", OPTION_TEXT, OPTIONS_TLS, OPTION_RELOADS, FIELD(tls_certificate), 0, 0, NULL, "FILE",
     NULL, NULL,
     "PEM file with the hub's certificate and the certificates that sign it; SIGHUP reads it again"},
    {"tls-key", OPTION_TEXT, OPTIONS_TLS, OPTION_RELOADS, FIELD(tls_key), 0, 0, NULL, "FILE", NULL,
     "the file of --tls-certificate", "PEM file with the certificate's private key; SIGHUP reads it again"},
    {"tls-clients", OPTION_TEXT, OPTIONS_TLS, OPTION_RELOADS, FIELD(tls_clients), 0, 0, NULL, "FILE", NULL,
     NULL,
     "PEM file of authorities: a client's certificate must be signed by one of them; SIGHUP reads it "
     "again"},
    {"users", OPTION_TEXT, OPTIONS_RIGHTS, OPTION_RELOADS, FIELD(users), 0, 0, NULL, "FILE", NULL, NULL,
     "file with the users, their credentials and their rights; nobody else may do anything; SIGHUP "
     "reads it again; patchbay users check judges it"},
    {"require-initialize", OPTION_FLAG, OPTIONS_RIGHTS, OPTION_RELOADS, FIELD(settings.require_initialize), 0,
     1, NULL, NULL, "no", NULL, "refuse requests that come before initialize"},
    {"audit", OPTION_TEXT, OPTIONS_RIGHTS, 0, FIELD(journal), 0, 0, NULL, "FILE", NULL, NULL,
     "write an audit journal to this file; SIGHUP opens it again"},
    {"validate", OPTION_CHOICE, OPTIONS_ROUTING, OPTION_RELOADS, FIELD(settings.strict), 0, 0, depths,
     "DEPTH", "lazy", NULL, "check the parts of a body that routing reads, or the whole body"},
    {"half-close", OPTION_CHOICE, OPTIONS_ROUTING, OPTION_RELOADS, FIELD(settings.half_close_leaves), 0, 0,
     stream_ends, "HOW", "answer", NULL,
     "a peer that ends its sending direction still gets its answers, or counts as gone"},
    {"takeover", OPTION_FLAG, OPTIONS_ROUTING, OPTION_RELOADS, FIELD(settings.takeover), 0, 1, NULL, NULL,
     "no", NULL, "let a registration take an agentId from the connection that has it"},
    {"max-frame", OPTION_SIZE, OPTIONS_LIMITS, OPTION_RELOADS, LIMIT(frame_bytes_max), 1, 1u << 30, NULL,
     "SIZE", "16M", NULL, "size of a body at most"},
    {"max-header", OPTION_SIZE, OPTIONS_LIMITS, OPTION_RELOADS, LIMIT(header_bytes_max), 64, 1u << 20, NULL,
     "SIZE", "8K", NULL, "size of a header block at most"},
    {"max-queue", OPTION_SIZE, OPTIONS_LIMITS, OPTION_RELOADS, LIMIT(queue_bytes_max), 1, UINT64_C(1) << 40,
     NULL, "SIZE", "4M", NULL, "bytes that wait for one reader at most"},
    {"max-memory", OPTION_SIZE, OPTIONS_LIMITS, OPTION_RELOADS, LIMIT(memory_bytes_max), 1u << 24,
     UINT64_C(1) << 44, NULL, "SIZE", "1G", NULL,
     "memory for all buffers and for data that peers make the hub keep; these data may have a quarter "
     "of it; 3M a shard at least"},
    {"max-connections", OPTION_COUNT, OPTIONS_LIMITS, 0, LIMIT(connections_max), 1, 1u << 20, NULL, "N",
     "65536", NULL, "connections at most"},
    {"max-pending", OPTION_COUNT, OPTIONS_LIMITS, OPTION_RELOADS, LIMIT(pending_max), 1, 1u << 22, NULL, "N",
     "65536", NULL, "unanswered requests of one target at most"},
    {"max-batch", OPTION_COUNT, OPTIONS_LIMITS, OPTION_RELOADS, LIMIT(batch_members_max), 1,
     BATCH_MEMBERS_MAX, NULL, "N", "1000", NULL, "messages in one batch at most"},
    {"request-timeout", OPTION_TIME, OPTIONS_LIMITS, OPTION_RELOADS, LIMIT(request_timeout_ns), OPTION_MS,
     24 * OPTION_HOUR, NULL, "TIME", "5m", NULL, "time that a target has to answer a request"},
    {"progress-extends", OPTION_FLAG, OPTIONS_TIMES, OPTION_RELOADS, FIELD(settings.progress_extends), 0, 1,
     NULL, NULL, "no", NULL,
     "begin --request-timeout anew at each progress of a request that has a progress token, for 1h at "
     "most"},
    {"frame-timeout", OPTION_TIME, OPTIONS_TIMES, OPTION_RELOADS, LIMIT(frame_timeout_ns), OPTION_MS,
     OPTION_HOUR, NULL, "TIME", "10s", NULL, "time in which a header block must be complete"},
    {"idle-timeout", OPTION_TIME, OPTIONS_TIMES, OPTION_RELOADS, LIMIT(idle_timeout_ns), 0, 24 * OPTION_HOUR,
     NULL, "TIME", "off", NULL, "close a connection that sends nothing for this time; off: never"},
    {"drain-timeout", OPTION_TIME, OPTIONS_TIMES, OPTION_RELOADS, LIMIT(drain_timeout_ns), 0, OPTION_HOUR,
     NULL, "TIME", "5s", NULL, "time that unanswered requests have when the hub ends"},
    {"shards", OPTION_COUNT, OPTIONS_PROCESS, 0, FIELD(settings.shard_count), 1, SHARDS_MAX, NULL, "N", NULL,
     "one a core", "threads that carry messages"},
    {"io", OPTION_CHOICE, OPTIONS_PROCESS, 0, FIELD(io), 0, 0, backends, "WAY", "auto", NULL,
     "interface to the kernel; auto uses io_uring, or epoll where io_uring is refused"},
    {"spin", OPTION_SPIN, OPTIONS_PROCESS, 0, FIELD(settings.spin_ns), 0, 10000000, NULL, "TIME", "off", NULL,
     "look for work for this time before sleeping, while waits are that short; off: never"},
    {"coalesce", OPTION_SPIN, OPTIONS_PROCESS, 0, FIELD(settings.hold_ns), 0, 1000000, NULL, "TIME", "100us",
     NULL,
     "sleep on for up to this time so that more work arrives, where that saves processor time; off: "
     "never; always off with --spin or epoll"},
    {"user", OPTION_TEXT, OPTIONS_PROCESS, 0, FIELD(user), 0, 0, NULL, "NAME", NULL, NULL,
     "account that the hub and its children become; root must start the hub"},
    {"sandbox", OPTION_CHOICE, OPTIONS_PROCESS, 0, FIELD(settings.sandbox.mode), 0, 0, sandboxes, "MODE",
     SANDBOX_DEFAULT_NAME, NULL,
     "give up all rights that the hub doesn't need; required: end if one can't be given up"},
    {"log", OPTION_CHOICE, OPTIONS_PROCESS, OPTION_RELOADS, FIELD(log_format), 0, 0, log_formats, "FORMAT",
     "text", NULL, "format of the lines on standard error"},
    {"log-level", OPTION_CHOICE, OPTIONS_PROCESS, OPTION_RELOADS, FIELD(log_level), 0, 0, log_levels, "LEVEL",
     "info", NULL, "log events of this level and of the levels before it"},
    {"config", OPTION_CONFIG, OPTIONS_PROCESS, OPTION_ARGUMENT | OPTION_REPEATS, 0, 0, 0, 0, NULL, "FILE",
     NULL, NULL, "read options and children from an INI file; repeatable"},
    {"check", OPTION_FLAG, OPTIONS_PROCESS, OPTION_ARGUMENT, FIELD(check), 0, 1, NULL, NULL, "no", NULL,
     "name all faults of the configuration and of the files it names, try the sandbox, and end"},
    {"print-config", OPTION_FLAG, OPTIONS_PROCESS, OPTION_ARGUMENT, FIELD(prints), 0, 1, NULL, NULL, "no",
     NULL, "print the configuration in force as a file for --config, with the source of each value, and end"},
};
enum { OPTIONS_COUNT = sizeof options / sizeof *options };

// All options: in each group, options of the program first, then options of features.
static struct option all[OPTIONS_COUNT + FEATURES_MAX * OPTIONS_OWN_MAX];
static size_t all_count;

static struct option *add(const struct option *option) {
    assert(all_count < sizeof all / sizeof *all);
    all[all_count] = *option;
    return &all[all_count++];
}

static void add_of_feature(const struct option *row, unsigned number) {
    struct option *option = add(row);
    if (option->kind == OPTION_ADDRESS) {
        option->offset = offsetof(struct config, own) + number * sizeof(struct address);
        option->bytes = sizeof(struct address);
    } else if (option->bytes > 0) {
        option->offset += offsetof(struct config, settings);
    }
}

static void add_group(enum option_group group) {
    for (size_t at = 0; at < OPTIONS_COUNT; at++)
        if (options[at].group == group)
            add(&options[at]);
    for (unsigned number = 0; number < FEATURES_MAX; number++) {
        const struct option *rows = features_all[number] ? features_all[number]->options : NULL;
        for (; rows && rows->name; rows++)
            if (rows->group == group)
                add_of_feature(rows, number);
    }
}

const struct option *options_all(size_t *count) {
    if (all_count == 0)
        for (enum option_group group = 0; group < OPTION_GROUPS; group++)
            add_group(group);
    *count = all_count;
    return all;
}

const struct option *option_find(const char *name) {
    size_t count;
    const struct option *found = options_all(&count);
    assert(name);
    for (size_t index = 0; index < count; index++)
        if (strcmp(found[index].name, name) == 0)
            return &found[index];
    return NULL;
}

const struct option *option_of_address(const struct address *address) {
    const struct transport *transport = transport_find(features_all, address->transport);
    const struct option *option = option_find(transport && transport->option ? transport->option : "listen");
    assert(option);
    return option;
}

const struct feature *option_feature(const struct option *option) {
    for (unsigned number = 0; number < FEATURES_MAX; number++) {
        const struct option *rows = features_all[number] ? features_all[number]->options : NULL;
        for (; rows && rows->name; rows++)
            if (strcmp(rows->name, option->name) == 0)
                return features_all[number];
    }
    return NULL;
}

// --- Texts

// Writes a number with the largest unit that divides it.
static const char *show_number(const struct option *option, uint64_t value, char out[32]) {
    assert(option->kind >= OPTION_SPIN && option->kind <= OPTION_TIME);
    static const struct unit {
        uint64_t factor;
        const char *suffix;
    } times[] = {{OPTION_HOUR, "h"},
                 {OPTION_HOUR / 60, "m"},
                 {OPTION_HOUR / 3600, "s"},
                 {OPTION_MS, "ms"},
                 {1000, "us"}},
      sizes[] = {{1u << 30, "G"}, {1u << 20, "M"}, {1u << 10, "K"}, {1, ""}};
    bool is_time = option->kind == OPTION_TIME || option->kind == OPTION_SPIN;
    const struct unit *unit = is_time ? times : sizes;
    if (is_time && value == 0)
        return strcpy(out, "off");
    if (value == 0)
        return strcpy(out, "0");
    if (option->kind == OPTION_COUNT)
        unit = &sizes[3];
    while (value % unit->factor != 0 || value < unit->factor)
        unit++;
    snprintf(out, 32, "%llu%s", (unsigned long long)(value / unit->factor), unit->suffix);
    return out;
}

static const char *join_choices(const struct option *option, char *out, size_t capacity) {
    size_t used = 0;
    assert(option->choices && option->choices[0]);
    for (size_t at = 0; option->choices[at] && used < capacity; at++) {
        const char *between = at == 0 ? "" : option->choices[at + 1] ? ", " : " or ";
        used += (size_t)snprintf(out + used, capacity - used, "%s%s", between, option->choices[at]);
    }
    return out;
}

const char *option_expected(const struct option *option, char *out, size_t capacity) {
    static const char *const things[] = {[OPTION_COUNT] = "a number",
                                         [OPTION_SIZE] = "a size such as 64K, 16M or 1G",
                                         [OPTION_TIME] = "a time such as 250ms, 5s or 10m",
                                         [OPTION_SPIN] = "a time such as 50us or 1ms"};
    char min[32], max[32];
    uint64_t shortest = option->kind == OPTION_SPIN ? 1000 : OPTION_MS;
    bool may_be_off = (option->kind == OPTION_TIME || option->kind == OPTION_SPIN) && option->min == 0;
    switch (option->kind) {
    case OPTION_CHOICE:
        return join_choices(option, out, capacity);
    case OPTION_FLAG:
        snprintf(out, capacity, "yes or no");
        return out;
    case OPTION_FRACTION:
        snprintf(out, capacity, "a number from 0 to 1, such as 0.01, with up to 9 digits behind its point");
        return out;
    case OPTION_COUNT:
    case OPTION_SIZE:
    case OPTION_TIME:
    case OPTION_SPIN:
        snprintf(out, capacity, "%s%s, from %s to %s", may_be_off ? "off, or " : "", things[option->kind],
                 show_number(option, may_be_off ? shortest : option->min, min),
                 show_number(option, option->max, max));
        return out;
    default:
        snprintf(out, capacity, "%s of 1 to %zu bytes without control characters", option->value,
                 option->bytes ? option->bytes - 1 : 0);
        return out;
    }
}

void option_describe(const struct option *option, char *out, size_t capacity) {
    assert(capacity > 0 && option->help);
    char choices[128] = "";
    const char *preset = option->kind == OPTION_FLAG ? NULL
                         : option->computed          ? option->computed
                                                     : option->preset;
    if (option->choices)
        join_choices(option, choices, sizeof choices);
    snprintf(out, capacity, "%s%s%s%s%s%s", choices, choices[0] ? ": " : "", option->help, preset ? " (" : "",
             preset ? preset : "", preset ? ")" : "");
}
