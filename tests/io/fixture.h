// A shard's io on real sockets, with a pool that must be full at the end. The program's argument names what
// stands behind the seam.
#pragma once

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/limits.h"
#include "io/io.h"
#include "io/listener.h"

enum { LENT = 8 };

#define SECOND_NS   UINT64_C(1000000000)
#define PATIENCE_NS (10 * SECOND_NS)

static enum io_backend backend;
static uint64_t spin_ns;

// By the name that is the program's argument.
static inline void choose_backend(int argc, char **argv) {
    const char *name = argc == 2 ? argv[1] : "";
    if (strncmp(name, "epoll", 5) == 0)
        backend = IO_EPOLL;
    else if (strncmp(name, "uring", 5) == 0)
        backend = IO_URING;
    else
        _exit(2);
    if (strcmp(name + 5, "-spin") == 0)
        spin_ns = 200000;
}

struct fixture {
    struct buffer_budget budget;
    struct buffer_pool pool;
    struct io *io;
};

// `buffers` bounds the pool: so many receive buffers and no more (an eighth isn't for them).
static inline struct fixture *fixture_open(uint64_t buffers) {
    struct fixture *fixture = test_calloc(1, sizeof *fixture);
    uint64_t footprint = sizeof(struct buffer) + RECEIVE_BUFFER_BYTES + BUFFER_SLACK_BYTES;
    fixture->budget.bytes_max = (buffers * footprint * 16 + 13) / 14;
    buffer_pool_init(&fixture->pool, &fixture->budget);
    const char *why = "";
    struct io_options options = {.pool = &fixture->pool,
                                 .buffers_provided = LENT,
                                 .backend = backend,
                                 .spin_ns = spin_ns,
                                 .restricted = spin_ns == 0}; // all is tried both ways
    if (io_open(&fixture->io, &options, &why) < 0)
        fail_msg("%s", why);
    return fixture;
}

static inline void fixture_close(struct fixture *fixture) {
    io_close(fixture->io);
    assert_true(buffer_pool_full(&fixture->pool));
    buffer_pool_deinit(&fixture->pool);
    test_free(fixture);
}

static inline int set_up(void **state) {
    *state = fixture_open(100);
    return 0;
}

static inline int tear_down(void **state) {
    fixture_close(*state);
    return 0;
}

// The next event; a test in which none comes fails.
static inline struct io_event wait_event(struct io *io) {
    struct io_event event;
    uint64_t deadline_ns = io_now(io) + PATIENCE_NS;
    while (!io_next(io, &event)) {
        assert_true(io_now(io) < deadline_ns);
        io_run(io, deadline_ns);
    }
    return event;
}

// Returns whether nothing comes for a short while, in which everything that was due has had its chance.
static inline bool is_quiet(struct io *io) {
    struct io_event event;
    io_run(io, io_now(io) + SECOND_NS / 50);
    return !io_next(io, &event);
}

// As a hub does before it starts its threads.
static inline void block_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static inline void unix_pair(int pair[2]) {
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
}

static inline struct listener listen_on(const char *uri) {
    struct address address;
    struct listener listener;
    const char *why = "";
    assert_int_equal(address_parse(&address, uri), 0);
    if (listener_open(&listener, &address, false, &why) < 0)
        fail_msg("%s", why);
    return listener;
}

static inline void tcp_pair(int pair[2]) {
    struct listener listener = listen_on("tcp://127.0.0.1:0");
    pair[0] = listener_dial(&listener.address);
    assert_true(pair[0] >= 0);
    pair[1] = accept(listener.socket, NULL, NULL);
    assert_true(pair[1] >= 0);
    listener_close(&listener);
}

static inline void write_all(int socket, const void *bytes, size_t count) {
    for (size_t done = 0; done < count;) {
        ssize_t result = write(socket, (const char *)bytes + done, count - done);
        assert_true(result > 0);
        done += (size_t)result;
    }
}

// Reads exactly `count` bytes; 0, or -1 when the stream ended before.
static inline int read_all(int socket, void *bytes, size_t count) {
    for (size_t done = 0; done < count;) {
        ssize_t result = read(socket, (char *)bytes + done, count - done);
        if (result <= 0)
            return -1;
        done += (size_t)result;
    }
    return 0;
}

// A pattern whose every 8 bytes tell where they belong.
static inline void fill_pattern(uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)((i / 8 * UINT64_C(0x9e3779b97f4a7c15)) >> (i % 8 * 8));
}
