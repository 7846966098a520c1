// Held waits of io_uring: by a kernel that holds them itself, and by one that doesn't.
#include "tests/io/fixture.h"

#include <sys/prctl.h>

#include "io/uring.h"

enum { PAIRS = 40 };

struct held {
    struct fixture *fixture;
    struct uring_io *io;
    int pairs[PAIRS][2];
    char bytes[PAIRS];
    int ended;
};

// Opens an io whose waits are held for `hold_ns`, whatever comes of that (run_for).
static struct held *hold_open(uint64_t hold_ns, bool by_kernel) {
    struct held *held = test_calloc(1, sizeof *held);
    held->fixture = fixture_open(100);
    held->io = uring_of(held->fixture->io);
    for (int i = 0; i < PAIRS; i++) {
        unix_pair(held->pairs[i]);
        io_receive_into(held->fixture->io, held->pairs[i][0], (uint64_t)i, held->bytes + i, 1);
    }
    io_run(held->fixture->io, 0);
    if (by_kernel && !held->io->ring.min_wait)
        skip();
    held->io->ring.min_wait = by_kernel;
    coalesce_init(&held->io->coalesce, hold_ns);
    return held;
}

static void hold_close(struct held *held) {
    held->io->coalesce.holds = false;
    for (int i = 0; i < PAIRS; i++)
        close(held->pairs[i][1]);
    for (; held->ended < PAIRS; held->ended++)
        wait_event(held->fixture->io);
    for (int i = 0; i < PAIRS; i++)
        io_close_socket(held->fixture->io, held->pairs[i][0]);
    fixture_close(held->fixture);
    test_free(held);
}

static uint64_t run_for(struct held *held, uint64_t deadline_ns) {
    uint64_t began_ns = io_clock_ns();
    held->io->coalesce.holds = true;
    io_run(held->fixture->io, deadline_ns);
    return io_clock_ns() - began_ns;
}

static int drain(struct held *held) {
    int count = 0;
    for (struct io_event event; io_next(held->fixture->io, &event); count++)
        held->ended += event.kind == IO_RECEIVED;
    return count;
}

// Two that come one after the other are there together, and not before the time is over.
static void little_waits(bool by_kernel) {
    struct held *held = hold_open(SECOND_NS / 20, by_kernel);
    write_all(held->pairs[0][1], "x", 1);
    write_all(held->pairs[1][1], "x", 1);
    uint64_t took_ns = run_for(held, UINT64_MAX);
    assert_in_range(took_ns, SECOND_NS / 20 - SECOND_NS / 1000, PATIENCE_NS / 2);
    assert_int_equal(drain(held), 2);
    assert_int_equal(io_held_waits(held->fixture->io), 1);
    hold_close(held);
}

static void many_end_it(bool by_kernel) {
    struct held *held = hold_open(PATIENCE_NS, by_kernel);
    for (int i = 0; i < PAIRS; i++)
        write_all(held->pairs[i][1], "x", 1);
    assert_true(run_for(held, UINT64_MAX) < PATIENCE_NS / 2);
    for (int count = drain(held); count < PAIRS; count += drain(held)) {
        held->io->coalesce.holds = false;
        io_run(held->fixture->io, UINT64_MAX);
    }
    hold_close(held);
}

// A timer of the hub's own isn't late by it.
static void a_deadline_ends_it(bool by_kernel) {
    struct held *held = hold_open(PATIENCE_NS, by_kernel);
    write_all(held->pairs[0][1], "x", 1);
    uint64_t took_ns = run_for(held, io_clock_ns() + SECOND_NS / 20);
    assert_in_range(took_ns, SECOND_NS / 20 - SECOND_NS / 1000, PATIENCE_NS / 2);
    assert_int_equal(drain(held), 1);
    took_ns = run_for(held, io_clock_ns() + SECOND_NS / 20); // and of nothing
    assert_in_range(took_ns, SECOND_NS / 20 - SECOND_NS / 1000, PATIENCE_NS / 2);
    assert_int_equal(drain(held), 0);
    hold_close(held);
}

static void *send_late(void *argument) {
    const struct held *held = argument;
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL); // past the hold
    write_all(held->pairs[0][1], "x", 1);
    return NULL;
}

// Once the time is over, the first that comes ends it.
static void what_comes_after_it_waits_no_more(bool by_kernel) {
    struct held *held = hold_open(SECOND_NS / 1000, by_kernel);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, send_late, held), 0);
    run_for(held, UINT64_MAX);
    assert_int_equal(drain(held), 1);
    assert_int_equal(io_held_waits(held->fixture->io), 1);
    pthread_join(thread, NULL);
    hold_close(held);
}

static void *ring_doorbell(void *argument) {
    struct held *held = argument;
    struct fixture *other = fixture_open(100);
    io_wake(other->io, held->fixture->io);
    io_run(other->io, 0);
    fixture_close(other);
    return NULL;
}

// Another shard's doorbell is held as what comes from a peer is, and no longer.
static void a_doorbell_ends_it(bool by_kernel) {
    struct held *held = hold_open(SECOND_NS / 20, by_kernel);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, ring_doorbell, held), 0);
    assert_true(run_for(held, UINT64_MAX) < PATIENCE_NS / 2);
    assert_int_equal(drain(held), 0);
    pthread_join(thread, NULL);
    hold_close(held);
}

// A send that ends at once doesn't count as an arrival.
static void sends_end_none(bool by_kernel) {
    struct held *held = hold_open(SECOND_NS / 20, by_kernel);
    for (int i = 0; i < PAIRS / 2; i++)
        io_send(held->fixture->io, held->pairs[i][0], (uint64_t)i, &(struct iovec){(char[]){"x"}, 1}, 1);
    uint64_t took_ns = run_for(held, UINT64_MAX);
    assert_in_range(took_ns, SECOND_NS / 20 - SECOND_NS / 1000, PATIENCE_NS / 2);
    assert_int_equal(drain(held), PAIRS / 2);
    hold_close(held);
}

static int slack_of(enum io_backend which, uint64_t spin, uint64_t hold_ns) {
    struct buffer_budget budget = {.bytes_max = UINT64_MAX};
    struct buffer_pool pool;
    struct io *io;
    const char *why = "";
    buffer_pool_init(&pool, &budget);
    struct io_options options = {
        .pool = &pool, .buffers_provided = 1, .backend = which, .spin_ns = spin, .hold_ns = hold_ns};
    if (io_open(&io, &options, &why) < 0)
        fail_msg("%s", why);
    io_close(io);
    buffer_pool_deinit(&pool);
    return prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
}

// The thread's timers are on time at the price of more wakes: where a wait may be held alone.
static void timers_are_on_time_where_waits_are_held(void **state) {
    int slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    (void)state;
    assert_int_not_equal(slack, 1000);
    assert_int_equal(slack_of(IO_EPOLL, 0, 50000), slack);
    assert_int_equal(slack_of(IO_URING, 50000, 50000), slack);
    assert_int_equal(slack_of(IO_URING, 0, 0), slack);
    assert_int_equal(slack_of(IO_URING, 0, 50000), 1000);
}

#define BOTH(test)                                                                                           \
    static void test##_by_the_kernel(void **state) {                                                         \
        (void)state;                                                                                         \
        test(true);                                                                                          \
    }                                                                                                        \
    static void test##_in_two_waits(void **state) {                                                          \
        (void)state;                                                                                         \
        test(false);                                                                                         \
    }
BOTH(little_waits)
BOTH(many_end_it)
BOTH(a_deadline_ends_it)
BOTH(what_comes_after_it_waits_no_more)
BOTH(a_doorbell_ends_it)
BOTH(sends_end_none)

#define TESTS(test) cmocka_unit_test(test##_by_the_kernel), cmocka_unit_test(test##_in_two_waits)

int main(void) {
    const struct CMUnitTest tests[] = {
        TESTS(little_waits),
        TESTS(many_end_it),
        TESTS(a_deadline_ends_it),
        TESTS(what_comes_after_it_waits_no_more),
        TESTS(a_doorbell_ends_it),
        TESTS(sends_end_none),
        cmocka_unit_test(timers_are_on_time_where_waits_are_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
