// patchbayd: reads its configuration, opens the listeners, runs one shard a thread, and ends with status 0
// when a SIGTERM has drained it. Whatever fails at start is said in one line on standard error, and the
// status is 1.

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include "core/base/memory.h"

#include "io/listener.h"
#include "router/config.h"
#include "router/request/journal.h"
#include "router/shard/shard.h"
#include "router/turn/accept.h"
#include "router/turn/turn.h"
#include <assert.h>

// What the threads of the hub share while it starts and ends.
struct program {
    int argc;
    char **argv;
    struct config config;
    struct hub *hub;
    struct listener listeners[LISTENERS_MAX];
    uint32_t listener_count;
    cpu_set_t cores;
    pthread_barrier_t barrier;
    _Atomic int failures; // shards that could not be opened
};

struct shard_thread {
    struct program *program;
    pthread_t thread;
    uint32_t index;
    bool started;
};

// --- Shards

// Shard n runs on the n-th core that the process may use, in turn.
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
            fprintf(stderr, "patchbayd: shard %u could not be pinned to core %zu\n", index, core);
        return;
    }
}

// Says where the hub listens, all lines in one write, and tells systemd.
static void announce(const struct program *program) {
    char lines[LISTENERS_MAX * 192];
    size_t length = 0;
    for (uint32_t index = 0; index < program->listener_count; index++) {
        char uri[160];
        address_format(&program->listeners[index].address, uri, sizeof uri);
        length += (size_t)snprintf(lines + length, sizeof lines - length, "listening %s\n", uri);
    }
    assert(length < sizeof lines);
    fwrite(lines, 1, length, stderr);
    sd_notify(0, "READY=1");
}

static void listen_on(const struct program *program, struct shard *shard) {
    struct accept_socket sockets[LISTENERS_MAX];
    assert(program->listener_count > 0 && program->listener_count <= LISTENERS_MAX);
    for (uint32_t index = 0; index < program->listener_count; index++)
        sockets[index] = (struct accept_socket){program->listeners[index].socket,
                                                transport_find(program->listeners[index].address.transport)};
    accept_listen(shard, sockets, program->listener_count);
    announce(program);
}

static int open_journal(struct shard *shard, const char **why) {
    assert(shard->index == 0 && !shard->journal);
    *why = shard->hub->settings.journal;
    return *why ? journal_open(shard) : 0;
}

// The life of a shard, on its own thread. No shard runs unless all could be opened, and none is closed while
// another one could still wake it.
static void run_shard(struct program *program, uint32_t index) {
    struct shard *shard = NULL;
    const char *why = NULL;
    pin(program, index);
    int failed = shard_open(&shard, program->hub, index, &why);
    if (!failed && index == 0)
        failed = open_journal(shard, &why);
    if (failed && atomic_fetch_add(&program->failures, 1) == 0)
        fprintf(stderr, "patchbayd: %s: %s\n", why, strerror(-failed));
    assert(failed ? why != NULL : shard != NULL);
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

// Shard 0 runs on the calling thread. A thread that can't be started leaves nothing to wait for: the process
// ends.
static int run_shards(struct program *program, uint32_t count) {
    struct shard_thread threads[SHARDS_MAX];
    assert(count > 0 && count <= SHARDS_MAX);
    pthread_barrier_init(&program->barrier, NULL, count);
    for (uint32_t index = 1; index < count; index++) {
        threads[index] = (struct shard_thread){.program = program, .index = index};
        int failed = pthread_create(&threads[index].thread, NULL, shard_thread, &threads[index]);
        if (failed) {
            fprintf(stderr, "patchbayd: can't start a thread: %s\n", strerror(failed));
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
    signal(SIGXFSZ, SIG_IGN); // a file that may not grow is an error, and no end
}

// As many descriptors as the process may have.
static void raise_descriptors(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

// A hub that was killed leaves its sockets to the kernel, which takes a moment to tear its rings down: an
// address in use may be free before a second is over.
static int open_patiently(struct listener *listener, const struct address *address, bool shared,
                          const char **why) {
    const struct timespec pause = {.tv_nsec = 50000000};
    int failed = listener_open(listener, address, shared, why);
    for (int tries = 20; failed == -EADDRINUSE && tries > 0; tries--) {
        nanosleep(&pause, NULL);
        failed = listener_open(listener, address, shared, why);
    }
    return failed;
}

static bool open_listeners(struct program *program, const struct config *config) {
    assert(config->listener_count > 0 && config->listener_count <= LISTENERS_MAX);
    for (uint32_t index = 0; index < config->listener_count; index++) {
        const char *why = "";
        int failed = open_patiently(&program->listeners[index], &config->listeners[index],
                                    config->settings.share_addresses, &why);
        if (failed) {
            char uri[160];
            address_format(&config->listeners[index], uri, sizeof uri);
            fprintf(stderr, "patchbayd: can't listen on %s: %s: %s\n", uri, why, strerror(-failed));
            return false;
        }
        program->listener_count++;
    }
    return true;
}

// What can't be changed in a hub that runs is said, and stays.
static void mention_fixed(const struct config *now, const struct config *fresh) {
    bool same = now->listener_count == fresh->listener_count &&
                now->settings.shard_count == fresh->settings.shard_count &&
                now->settings.limits.connections_max == fresh->settings.limits.connections_max &&
                now->io_fixed == fresh->io_fixed && strcmp(now->journal, fresh->journal) == 0;
    same &= now->settings.spin_ns == fresh->settings.spin_ns;
    same &= now->settings.share_addresses == fresh->settings.share_addresses;
    if (now->io_fixed)
        same &= now->settings.io == fresh->settings.io;
    for (uint32_t index = 0; same && index < now->listener_count; index++) {
        char uri[160], fresh_uri[160];
        address_format(&now->listeners[index], uri, sizeof uri);
        address_format(&fresh->listeners[index], fresh_uri, sizeof fresh_uri);
        same = strcmp(uri, fresh_uri) == 0;
    }
    if (!same)
        fputs("patchbayd: --listen, --share-addresses, --shards, --io, --spin, --audit and --max-connections "
              "take effect at the next start\n",
              stderr);
}

// As hub_settings.read_again: the command line once more, and with it the file that it names.
static bool main_read_again(void *context, struct hub_settings *fresh) {
    struct program *program = context;
    struct config *config = malloc(sizeof *config);
    bool good = config && config_read(config, program->argc, program->argv,
                                      (uint32_t)CPU_COUNT(&program->cores)) == CONFIG_RUN;
    if (good) {
        mention_fixed(&program->config, config);
        fresh->limits = config->settings.limits;
        fresh->takeover = config->settings.takeover;
        fresh->require_initialize = config->settings.require_initialize;
        fresh->strict = config->settings.strict;
        fresh->half_close_leaves = config->settings.half_close_leaves;
    }
    fputs(good ? "patchbayd: the configuration was read again\n"
               : "patchbayd: the configuration can't be used; the hub goes on as before\n",
          stderr);
    free(config);
    return good;
}

// Containers often refuse io_uring: the hub says so and goes the other way, unless it was told not to.
static void choose_io(struct config *config) {
    const char *why = "";
    int failed = config->io_fixed ? 0 : io_try(IO_URING, &why);
    if (!failed)
        return;
    fprintf(stderr, "patchbayd: %s: %s; going on with epoll\n", why, strerror(-failed));
    config->settings.io = IO_EPOLL;
}

static int serve(struct program *program, struct config *config) {
    assert(program->listener_count == config->listener_count);
    config->settings.read_again = main_read_again;
    config->settings.read_context = program;
    choose_io(config);
    config->settings.process = (uint32_t)getpid();
    struct hub_secrets *secrets = &config->settings.secrets;
    if (getrandom(secrets, sizeof *secrets, 0) != sizeof *secrets) {
        fputs("patchbayd: the system has no random numbers\n", stderr);
        return 1;
    }
    if (hub_create(&program->hub, &config->settings)) {
        fputs("patchbayd: memory is used up\n", stderr);
        return 1;
    }
    int status = run_shards(program, config->settings.shard_count);
    hub_destroy(program->hub);
    return status;
}

int main(int argc, char **argv) {
    static struct program program;
    struct config *config = &program.config;
    program.argc = argc;
    program.argv = argv;
    sched_getaffinity(0, sizeof program.cores, &program.cores);
    switch (config_read(config, argc, argv, (uint32_t)CPU_COUNT(&program.cores))) {
    case CONFIG_SHOWN:
        return 0;
    case CONFIG_BAD:
        return 1;
    case CONFIG_RUN:
        break;
    }
    route_signals();
    raise_descriptors();
    int status = open_listeners(&program, config) ? serve(&program, config) : 1;
    for (uint32_t index = 0; index < program.listener_count; index++)
        listener_close(&program.listeners[index]);
    return status;
}
