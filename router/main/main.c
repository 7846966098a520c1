// patchbayd: reads its configuration, opens the listeners, runs each shard on a thread, and ends with status 0 when
// SIGTERM has drained the hub. Errors at start are logged. The status is 2 if options or the configuration can't be
// used, and 1 for other errors.

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "core/rights/users.h"

#include "io/keeper.h"
#include "io/log.h"
#include "io/notify.h"
#include "io/passed_sockets.h"
#include "io/plain_file.h"
#include "io/process.h"
#include "io/resolver.h"
#include "io/sandbox_layer.h"
#include "io/secure.h"
#include "io/tls.h"
#include "router/audit/journal.h"
#include "router/engine/shard/feature_call.h"
#include "router/engine/shard/shard.h"
#include "router/engine/shard/transport.h"
#include "router/engine/turn/accept.h"
#include "router/engine/turn/turn.h"
#include "router/engine/turn/watchdog.h"
#include "router/main/config.h"
#include "router/main/config_arguments.h"
#include "router/main/config_check.h"
#include "router/main/config_fault.h"
#include "router/main/config_users.h"
#include "router/main/features.h"
#include "router/main/listen_sockets.h"
#include "router/main/sandbox.h"

// Exit statuses besides 0. STATUS_UNUSABLE: the options or the configuration can't be used. STATUS_FAILED: other
// errors.
enum { STATUS_FAILED = 1, STATUS_UNUSABLE = 2 };

// State that the hub's threads share at start and end.
struct program {
    int argc;
    char **argv;
    struct config config;
    uint64_t connections_most; // connections for which the file descriptors suffice, counted at start
    struct sandbox sandbox;
    struct hub *hub;
    int manager;                             // the service manager's socket (io/notify.h)
    struct keeper keeper;                    // runs only if there may be children
    struct resolver resolvers[FEATURES_MAX]; // for features that look names up, by number
    struct listen_sockets listening;
    cpu_set_t cores;
    pthread_barrier_t barrier;
    // Shards that could not be opened, and required layers of the sandbox that are missing
    _Atomic int failures;
    _Atomic bool ring_unwalled; // the kernel could not restrict a shard's ring
};

struct shard_thread {
    struct program *program;
    pthread_t thread;
    uint32_t index;
};

// --- Shards

// Pins shard n to the n-th core that the process may use; counting starts again behind the last core.
static void pin(const struct program *program, uint32_t index) {
    assert(CPU_COUNT(&program->cores) > 0);
    uint32_t skip = index % (uint32_t)CPU_COUNT(&program->cores);
    for (size_t core = 0; core < CPU_SETSIZE; core++) {
        if (!CPU_ISSET(core, &program->cores) || skip-- > 0)
            continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        if (pthread_setaffinity_np(pthread_self(), sizeof one, &one))
            log_write(LOG_NOTICE, LOG_NO_FIELDS, "shard %u could not be pinned to core %zu", index, core);
        return;
    }
}

static void tell_ready(const struct program *program) {
    char text[64];
    assert(program->listening.count > 0);
    snprintf(text, sizeof text, "READY=1\nSTATUS=Serving at %u address%s", program->listening.count,
             program->listening.count == 1 ? "" : "es");
    notify_tell(program->manager, text);
}

// Tells the service manager of a notice (hub_settings.notice).
static void tell_manager(void *context, enum hub_notice notice) {
    const struct program *program = context;
    struct timespec now = {0};
    char text[96];
    switch (notice) {
    case HUB_RELOADS:
        log_write(LOG_RELOADING, LOG_NO_FIELDS, "the configuration is read again");
        clock_gettime(CLOCK_MONOTONIC, &now);
        snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%llu",
                 (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000);
        notify_tell(program->manager, text);
        break;
    case HUB_IS_READY:
        tell_ready(program);
        break;
    case HUB_STOPS:
        log_write(LOG_DRAINING, LOG_NO_FIELDS, "the hub drains: what is pending has %llu ms",
                  (unsigned long long)(hub_settings(program->hub)->limits.drain_timeout_ns / 1000000));
        notify_tell(program->manager, "STOPPING=1\nSTATUS=Waiting for what is pending");
        break;
    case HUB_IS_ALIVE:
        notify_tell(program->manager, "WATCHDOG=1");
        break;
    }
}

enum { ANNOUNCED_BYTES_MAX = 1024 };

// Logs where the hub listens, all lines in one write, and tells systemd.
static void announce(const struct program *program) {
    char lines[LISTENERS_MAX * ANNOUNCED_BYTES_MAX];
    size_t length = 0;
    for (uint32_t index = 0; index < program->listening.count; index++) {
        char uri[160];
        address_format(&program->listening.listeners[index].address, uri, sizeof uri);
        length += log_compose(lines + length, ANNOUNCED_BYTES_MAX, LOG_LISTENING, LOG_FIELDS(log_text(uri)),
                              "listening %s", uri);
    }
    assert(length < sizeof lines);
    log_write_lines(lines, length);
    log_write(LOG_READY, LOG_NO_FIELDS, "the hub serves at %u address%s", program->listening.count,
              program->listening.count == 1 ? "" : "es");
    tell_ready(program);
}

static void listen_on(const struct program *program, struct shard *shard) {
    struct accept_socket sockets[LISTENERS_MAX];
    assert(program->listening.count > 0 && program->listening.count <= LISTENERS_MAX);
    for (uint32_t index = 0; index < program->listening.count; index++) {
        const struct listener *listener = &program->listening.listeners[index];
        sockets[index] = (struct accept_socket){listener->socket,
                                                transport_find(features_all, listener->address.transport),
                                                listener->address.secure, program->listening.passed[index]};
        feature_address_served(shard, &listener->address);
    }
    const char *lack = feature_start(shard);
    if (lack)
        log_write(LOG_NOTICE, LOG_NO_FIELDS, "there is no memory for %s", lack);
    accept_listen(shard, sockets, program->listening.count);
    watchdog_begin(shard);
    announce(program);
}

static int open_journal(struct shard *shard, const char **why) {
    assert(shard->index == 0 && !shard->journal);
    *why = shard->hub->start_settings.journal;
    return *why ? journal_open(shard) : 0;
}

static struct shard *open_shard(struct program *program, uint32_t index) {
    struct shard *shard = NULL;
    const char *why = NULL;
    int failed = shard_open(&shard, program->hub, index, &why);
    if (!failed && index == 0)
        failed = open_journal(shard, &why);
    if (failed && atomic_fetch_add(&program->failures, 1) == 0)
        log_write(LOG_FAILED, LOG_NO_FIELDS, "%s: %s", why, strerror(-failed));
    assert(failed ? why != NULL : shard != NULL);
    if (shard && !io_is_restricted(shard->io))
        atomic_store(&program->ring_unwalled, true);
    return shard;
}

// Applies the sandbox's last layer, for all threads, when every shard has opened what the layer forbids.
static void seal(struct program *program) {
    enum sandbox_layer_state ring = program->config.settings.io == IO_EPOLL ? SANDBOX_LAYER_UNUSED
                                    : atomic_load(&program->ring_unwalled)  ? SANDBOX_LAYER_MISSING
                                                                            : SANDBOX_LAYER_UP;
    assert(program->hub);
    if (atomic_load(&program->failures) == 0 &&
        !sandbox_apply_calls(&program->hub->start_settings.sandbox, ring))
        atomic_store(&program->failures, 1);
}

// Opens, runs and closes a shard on its own thread. No shard runs unless all shards have opened. No shard is closed
// while another shard can still wake it.
static void run_shard(struct program *program, uint32_t index) {
    pin(program, index);
    struct shard *shard = open_shard(program, index);
    if (program->config.settings.sandbox.mode != SANDBOX_OFF)
        sandbox_layer_last_privilege();
    pthread_barrier_wait(&program->barrier);
    if (index == 0)
        seal(program);
    pthread_barrier_wait(&program->barrier);
    if (atomic_load(&program->failures) == 0) {
        if (index == 0)
            listen_on(program, shard);
        while (turn_take(shard))
            continue;
        pthread_barrier_wait(&program->barrier);
    }
    if (shard) {
        journal_close(shard);
        shard_close(shard);
    }
}

static void *shard_thread(void *context) {
    struct shard_thread *thread = context;
    run_shard(thread->program, thread->index);
    return NULL;
}

// Runs all shards; shard 0 runs on the calling thread. Ends the process if a thread can't be started: the others would
// wait for it forever.
static int run_shards(struct program *program, uint32_t count) {
    struct shard_thread threads[SHARDS_MAX];
    assert(count > 0 && count <= SHARDS_MAX);
    pthread_barrier_init(&program->barrier, NULL, count);
    for (uint32_t index = 1; index < count; index++) {
        threads[index] = (struct shard_thread){.program = program, .index = index};
        int failed = pthread_create(&threads[index].thread, NULL, shard_thread, &threads[index]);
        if (failed) {
            log_write(LOG_FAILED, LOG_NO_FIELDS, "can't start a thread: %s", strerror(failed));
            exit(1);
        }
    }
    run_shard(program, 0);
    for (uint32_t index = 1; index < count; index++)
        pthread_join(threads[index].thread, NULL);
    pthread_barrier_destroy(&program->barrier);
    return atomic_load(&program->failures) ? 1 : 0;
}

// --- The process

static void route_signals(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    // Writing beyond the limit of a file's size must be an error, and not end the process
    signal(SIGXFSZ, SIG_IGN);
}

// Raises the limit of file descriptors to its maximum. Rings count as locked memory, which is limited for all processes
// of a user together. Root has no such limit until it gives up its privileges, which happens before rings are made.
static void raise_limits(void) {
    const struct rlimit any = {RLIM_INFINITY, RLIM_INFINITY};
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (setrlimit(RLIMIT_MEMLOCK, &any) == 0 || getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_MEMLOCK, &limit);
}

// Returns how many descriptors the hub needs for shards, listeners, children's streams and files.
static uint64_t own_descriptors(const struct config *config) {
    enum { FILES = 24, PER_SHARD = 8, PER_LISTENER = 2, PER_CHILD = 3 };
    uint64_t count = FILES + PER_SHARD * config->settings.shard_count + PER_LISTENER * config->listener_count;
    for (const struct child_settings *child = config->settings.children; child; child = child->next)
        count += PER_CHILD * (uint64_t)(child->each ? child->instances_max : child->instances);
    return count;
}

// Returns whether the descriptors suffice for the hub itself and a few connections, and logs if they don't: connections
// would hang.
static bool has_descriptors(const struct config *config) {
    enum { FILES = 14, PER_SHARD = 4, PER_LISTENER = 2, PER_CHILD = 3, CONNECTIONS = 8 };
    uint64_t least = FILES + CONNECTIONS + PER_SHARD * config->settings.shard_count +
                     PER_LISTENER * config->listener_count;
    struct rlimit limit;
    for (const struct child_settings *child = config->settings.children; child; child = child->next)
        least += PER_CHILD;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max >= least)
        return true;
    log_write(LOG_FAILED, LOG_NO_FIELDS,
              "%llu file descriptors (ulimit -n) aren't enough: expected %llu or more",
              (unsigned long long)limit.rlim_max, (unsigned long long)least);
    return false;
}

// Lowers --max-connections to `most`, since a connection without a descriptor would hang.
static void bound_connections(struct config *config, uint64_t most) {
    uint32_t *connections = &config->settings.limits.connections_max;
    assert(*connections > 0 && most > 0);
    if (*connections > most)
        *connections = (uint32_t)most;
}

// Counts for how many connections the descriptors suffice, and bounds the connections. At least half of the descriptors
// are kept for connections. Warns if --max-connections asks for more, or if far fewer than the default remain.
static void count_connections(struct program *program) {
    struct config *config = &program->config;
    struct rlimit limit;
    uint32_t connections = config->settings.limits.connections_max;
    program->connections_most = UINT64_MAX;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max == RLIM_INFINITY)
        return;
    uint64_t all = limit.rlim_max, own = own_descriptors(config), most = own < all / 2 ? all - own : all / 2;
    bool is_asked_for = config_is_given(config, "max-connections");
    if (connections > most && (is_asked_for || most < connections / 4))
        log_write(LOG_CONFIG_WARNING, LOG_FIELDS(log_unknown(), log_unknown(), log_text("max-connections")),
                  "%llu file descriptors (ulimit -n) are enough for %llu connections, and --max-connections "
                  "is %u: raise ulimit -n, or lower --max-connections",
                  (unsigned long long)all, (unsigned long long)most, connections);
    program->connections_most = most ? most : 1;
    bound_connections(config, program->connections_most);
}

enum { TLS_FILES = 3 };

struct tls_file {
    const char *option, *path;
};

static void list_tls_files(const struct config *config, struct tls_file *out) {
    out[0] = (struct tls_file){"tls-certificate", config->tls_certificate};
    out[1] = (struct tls_file){"tls-key", config->tls_key};
    out[2] = (struct tls_file){"tls-clients", config->tls_clients};
}

// Names each file of TLS that can't be read, with its option. Returns whether all can be read.
static bool are_files_there(const struct config *config) {
    struct tls_file files[TLS_FILES];
    bool all = true;
    assert(memchr(config->tls_key, '\0', sizeof config->tls_key));
    list_tls_files(config, files);
    for (size_t at = 0; at < TLS_FILES; at++) {
        int failed = config_is_given(config, files[at].option) ? plain_file_check(files[at].path) : 0;
        const struct config_place place = config_place_of(config, files[at].option);
        if (failed)
            config_fault(&place, "TLS: %s: expected a regular file that can be read: %s", files[at].path,
                         plain_file_why(-failed));
        all = all && !failed;
    }
    return all;
}

// Names the fault from tls_read ("FILE: WHY"), with the option of that file. If several options name the file, the
// first counts.
static void blame_tls_file(const struct config *config, const char *said) {
    struct tls_file files[TLS_FILES];
    const char *option = NULL;
    assert(said && *said);
    list_tls_files(config, files);
    for (size_t at = 0; at < TLS_FILES && !option; at++) {
        size_t bytes = strlen(files[at].path);
        if (bytes > 0 && strncmp(said, files[at].path, bytes) == 0 && said[bytes] == ':')
            option = files[at].option;
    }
    const struct config_place place = config_place_of(config, option ? option : "tls-certificate");
    config_fault(&place, "TLS: %s", said);
}

// Returns whether the certificate is valid now. An invalid certificate is a fault with --check; otherwise the hub
// warns, and serves the certificate, since it has no other.
static bool is_valid_now(const struct config *config, struct secure_source *secure) {
    const char *fault = tls_certificate_fault(secure);
    const struct config_place place = config_place_of(config, "tls-certificate");
    assert(config->tls_certificate[0]);
    if (fault)
        (config->check ? config_fault : config_warn)(
            &place, "TLS: %s: expected a certificate that is valid now: %s", config->tls_certificate, fault);
    return !fault || !config->check;
}

// Reads the files of TLS. *secure is NULL without a certificate. Returns false if the files can't be used; the fault
// has been named then.
static bool read_keys(const struct config *config, struct secure_source **secure) {
    const struct tls_files files = {config->tls_certificate, config->tls_key,
                                    config->tls_clients[0] ? config->tls_clients : NULL};
    char why[PATH_MAX + 128];
    *secure = NULL;
    if (!are_files_there(config))
        return false;
    *secure = files.certificate[0] ? tls_read(&files, why, sizeof why) : NULL;
    if (*secure)
        return is_valid_now(config, *secure);
    if (files.certificate[0])
        blame_tls_file(config, why);
    return !files.certificate[0];
}

// Has each feature read the files that its options name. Returns false if one can't be used; each fault has been named
// then.
static bool prepare_features(struct config *config) {
    char fault[FEATURE_FAULT_BYTES];
    bool fit = true;
    for (unsigned number = 0; number < FEATURES_MAX; number++) {
        const struct feature *feature = features_all[number];
        const char *option =
            feature && feature->prepare_settings ? feature->prepare_settings(&config->settings, fault) : NULL;
        if (option)
            fit = config_complain_of(config, option, "%s", fault);
    }
    return fit;
}

// Reads the users file to name its faults, and keeps nothing. Returns whether the file can be used.
static bool are_users_fit(const struct config *config) {
    struct realm realm;
    assert(memchr(config->users, '\0', sizeof config->users));
    if (!config->users[0])
        return true;
    struct users *users =
        config_users(config, &config->settings.secrets.tables, NULL, config->settings.approval_level, &realm);
    users_drop(users);
    return users != NULL;
}

// Returns whether the users file, the files of TLS and the files of features can be used. Names the faults of all of
// them.
static bool are_names_fit(struct config *config) {
    assert(!config->settings.users && !config->settings.secure);
    bool fit = are_users_fit(config);
    fit &= read_keys(config, &config->settings.secure);
    return prepare_features(config) && fit;
}

// Reads the users file again, if the hub was started with one. If the new configuration names no users file, reads the
// file of the start, and config_mention_fixed says so: a hub can't change between having users and having none.
static bool read_users_again(struct program *program, struct config *config, struct hub_settings *fresh) {
    const struct users *before = hub_settings(program->hub)->users;
    if (!before)
        return true;
    bool names_none = !config->users[0];
    if (names_none)
        memcpy(config->users, program->config.users, sizeof config->users);
    fresh->users = config_users(config, &program->hub->start_settings.secrets.tables, before,
                                program->hub->start_settings.approval_level, &fresh->realm);
    if (names_none)
        config->users[0] = '\0';
    return fresh->users != NULL;
}

static bool are_limits_fit(const struct program *program, struct config *config) {
    char expected[HUB_LIMITS_FAULT_BYTES];
    assert(program->hub);
    return hub_accepts_limits(program->hub, &config->settings.limits, expected) ||
           config_complain_of(config, "max-memory", "%s", expected);
}

// Reads the command line again, and the files that it names (hub_settings.read_again). Returns false if the new
// configuration can't be used.
static bool main_read_again(void *context, struct hub_settings *fresh) {
    struct program *program = context;
    struct config *config = malloc(sizeof *config);
    const struct hub_settings *before = hub_settings(program->hub);
    bool good = config && config_read(config, program->argc, program->argv,
                                      (uint32_t)CPU_COUNT(&program->cores)) == CONFIG_RUN;
    if (config) { // faults of all parts are named
        good &= read_keys(config, &fresh->secure);
        good &= read_users_again(program, config, fresh);
        good &= are_limits_fit(program, config);
        config_check_children(config);
    }
    if (good)
        bound_connections(config, program->connections_most);
    if (good && !fresh->secure && before->secure) // the listeners with TLS stay open
        fresh->secure = secure_source_hold(before->secure);
    if (good) {
        config_mention_fixed(&program->config, config);
        log_set(config->log_format, config->log_level);
        fresh->limits = config->settings.limits;
        memcpy(fresh->own, config->settings.own, sizeof fresh->own);
        fresh->takeover = config->settings.takeover;
        fresh->progress_extends = config->settings.progress_extends;
        fresh->require_initialize = config->settings.require_initialize;
        fresh->strict = config->settings.strict;
        fresh->half_close_leaves = config->settings.half_close_leaves;
        fresh->hosts = config->settings.hosts;
        fresh->origins = config->settings.origins;
        fresh->children = config->settings.children;
        config->settings.children = NULL;
    }
    if (config)
        config_deinit(config);
    if (!good)
        log_write(LOG_RELOAD_FAILED, LOG_NO_FIELDS,
                  "the configuration can't be used; the hub goes on as before");
    free(config);
    return good;
}

// Chooses the I/O backend. Containers often forbid io_uring: unless --io says otherwise the hub logs that and uses
// epoll.
static void choose_io(struct config *config) {
    const char *why = "";
    int failed = config->io != CONFIG_IO_AUTO ? 0 : io_try(IO_URING, &why);
    if (failed)
        config->settings.io = IO_EPOLL;
    if (config->settings.io == IO_EPOLL && config->settings.sandbox.mode != SANDBOX_OFF)
        sandbox_layer_last_privilege(); // before the backend starts its own threads
    if (!failed)
        return;
    log_write(LOG_IO_FALLBACK, LOG_NO_FIELDS, "%s: %s; going on with epoll", why, strerror(-failed));
}

static int serve(struct program *program, struct config *config) {
    assert(program->listening.count == config->listener_count);
    config->settings.keeper = program->keeper.process ? &program->keeper : NULL;
    config->settings.read_again = main_read_again;
    config->settings.in_effect = config_mention_in_effect;
    config->settings.read_context = program;
    config->settings.notice = tell_manager;
    config->settings.watchdog_ms = notify_watchdog_ms();
    bool fit = read_keys(config, &config->settings.secure);
    // The sandbox would hide the file later. are_users_fit names the fault.
    fit &= !config->users[0] || plain_file_check(config->users) == 0;
    if (!prepare_features(config) || !fit) {
        (void)are_users_fit(config);
        return STATUS_UNUSABLE;
    }
    if (!sandbox_apply(&program->sandbox, &config->settings.sandbox))
        return STATUS_FAILED;
    choose_io(config);
    config->settings.process = (uint32_t)getpid();
    config->settings.features = features_all;
    struct hub_secrets *secrets = &config->settings.secrets;
    if (getrandom(secrets, sizeof *secrets, 0) != sizeof *secrets) {
        log_write(LOG_FAILED, LOG_NO_FIELDS, "the system has no random numbers");
        return STATUS_FAILED;
    }
    if (config->users[0] &&
        !(config->settings.users = config_users(config, &secrets->tables, NULL,
                                                config->settings.approval_level, &config->settings.realm)))
        return STATUS_UNUSABLE;
    if (hub_create(&program->hub, &config->settings)) {
        log_write(LOG_FAILED, LOG_NO_FIELDS, "memory is used up");
        return STATUS_FAILED;
    }
    int status = run_shards(program, config->settings.shard_count);
    status |= atomic_load(&program->hub->failed);
    hub_destroy(program->hub);
    config_drop(config);
    return status;
}

// Returns whether the hub may have children, now or after SIGHUP. Without children there is no keeper: an attacker who
// takes over the hub can't start programs.
static bool may_have_children(const struct config *config) {
    assert(config->files <= CONFIG_FILES_MAX);
    return config->files > 0 || config->settings.children;
}

// Runs --check: names everything that would keep the hub or its children from starting. Returns the exit status.
static int check(struct program *program, struct config *config, bool is_read) {
    bool fit = are_names_fit(config), is_free = config_check(config);
    if (!is_read || !fit || config->faults > 0)
        return STATUS_UNUSABLE;
    if (!sandbox_plan(&program->sandbox, config) || !has_descriptors(config))
        return STATUS_UNUSABLE;
    count_connections(program);
    int status = sandbox_check(&program->sandbox, config);
    return is_free ? status : STATUS_FAILED;
}

// Reads the configuration without output, to learn in which format its faults are logged. --check and --print-config
// always answer in text. Returns whether help or the version was asked for, and has been shown.
static bool learn_log(struct program *program) {
    struct config *config = &program->config;
    log_mute(true);
    assert(program->argv && CPU_COUNT(&program->cores) > 0);
    bool is_shown = config_read(config, program->argc, program->argv, (uint32_t)CPU_COUNT(&program->cores)) ==
                    CONFIG_SHOWN;
    log_mute(false);
    if (!config->check && !config->prints)
        log_set(config->log_format, config->log_level);
    config_deinit(config);
    return is_shown;
}

// Forks the resolver process of a feature, if the feature needs one. Returns 0 or -errno.
static int fork_resolver(struct program *program, struct config *config, unsigned number) {
    const struct feature *feature = features_all[number];
    struct resolver *resolver = &program->resolvers[number];
    if (!feature || !feature->needs_resolver || !feature->needs_resolver(&config->settings))
        return 0;
    int failed = resolver_fork(resolver, sandbox_user(&program->sandbox));
    config->settings.resolvers[number] = failed ? NULL : resolver;
    return failed;
}

// Forks the keeper and the resolvers before the hub has threads, sockets, limits or a sandbox, which these processes
// must not have. Returns false if one can't be forked; the error has been logged then.
static bool fork_helpers(struct program *program, struct config *config) {
    const struct privdrop_user *user = sandbox_user(&program->sandbox);
    assert(!program->keeper.process && !program->hub);
    int failed = may_have_children(config) ? keeper_fork(&program->keeper, user) : 0;
    if (failed) {
        log_write(LOG_FAILED, LOG_NO_FIELDS, "the keeper of children can't be started: %s",
                  strerror(-failed));
        return false;
    }
    for (unsigned number = 0; number < FEATURES_MAX && !failed; number++)
        failed = fork_resolver(program, config, number);
    if (failed)
        log_write(LOG_FAILED, LOG_NO_FIELDS, "what looks names up can't be started: %s", strerror(-failed));
    return !failed;
}

static void close_helpers(struct program *program) {
    if (program->keeper.process)
        keeper_close(&program->keeper);
    for (unsigned number = 0; number < FEATURES_MAX; number++)
        if (program->resolvers[number].process)
            resolver_close(&program->resolvers[number]);
}

// Blocks SIGHUP until the hub has started: logrotate may send the signal during a start.
static void hold_reloads(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

int main(int argc, char **argv) {
    static struct program program;
    struct config *config = &program.config;
    hold_reloads();
    if (process_fill_streams())
        return STATUS_FAILED;
    log_begin();
    memory_begin();
    tls_begin();
    program.argc = argc;
    program.argv = config_arguments_keep(argc, argv);
    if (!program.argv) {
        log_write(LOG_FAILED, LOG_NO_FIELDS, "memory is used up");
        return STATUS_FAILED;
    }
    process_name_begin(argc, argv);
    sched_getaffinity(0, sizeof program.cores, &program.cores);
    if (learn_log(&program))
        return 0;
    const char *why = "";
    if (passed_sockets_take(&why) < 0) {
        log_write(LOG_FAILED, LOG_NO_FIELDS, "%s", why);
        return STATUS_UNUSABLE;
    }
    enum config_result result = config_read(config, argc, program.argv, (uint32_t)CPU_COUNT(&program.cores));
    if (config->check)
        return check(&program, config, result == CONFIG_RUN);
    if (config->prints && result != CONFIG_BAD) {
        config_print(config);
        return 0;
    }
    if (!config_check_start(config) || result == CONFIG_BAD) {
        (void)are_names_fit(config);
        return STATUS_UNUSABLE;
    }
    if (!sandbox_plan(&program.sandbox, config) || !has_descriptors(config))
        return STATUS_UNUSABLE;
    count_connections(&program);
    if (config->settings.approval_level && !config->users[0])
        log_write(LOG_CONFIG_WARNING, LOG_FIELDS(log_unknown(), log_unknown(), log_text("gate")),
                  "--gate without --users: any other connection may approve what one has sent");
    program.manager = notify_open();
    if (!fork_helpers(&program, config))
        return STATUS_FAILED;
    route_signals();
    raise_limits();
    bool listens = listen_sockets_open(&program.listening, config, sandbox_user(&program.sandbox));
    int status = listens ? serve(&program, config) : config->faults > 0 ? STATUS_UNUSABLE : STATUS_FAILED;
    close_helpers(&program);
    listen_sockets_close(&program.listening);
    log_tell_suppressed();
    if (status == 0)
        log_write(LOG_STOPPED, LOG_NO_FIELDS, "the hub has drained and ends");
    return status;
}
