// io/uring.c where its queues are full, behind its wall, and on kernels that give receives up sooner or know no walls.
#include "tests/io/fixture.h"

#include <liburing.h>
#include <sys/eventfd.h>

int __real_io_uring_queue_init_params(unsigned entries, struct io_uring *ring, struct io_uring_params *p);
int __wrap_io_uring_queue_init_params(unsigned entries, struct io_uring *ring, struct io_uring_params *p);
int __real_io_uring_enter2(unsigned ring, unsigned submitted, unsigned awaited, unsigned flags, sigset_t *arg,
                           size_t bytes);
int __wrap_io_uring_enter2(unsigned ring, unsigned submitted, unsigned awaited, unsigned flags, sigset_t *arg,
                           size_t bytes);

int __real_io_uring_register(unsigned ring, unsigned operation, const void *argument, unsigned count);
int __wrap_io_uring_register(unsigned ring, unsigned operation, const void *argument, unsigned count);

static bool knows_no_walls;
static struct io_uring *opened; // last
static bool gives_up;
static int given_up;

int __wrap_io_uring_queue_init_params(unsigned entries, struct io_uring *ring, struct io_uring_params *p) {
    opened = ring;
    return __real_io_uring_queue_init_params(entries, ring, p);
}

// As the kernel answers, but with gives_up a receive doesn't get to see the stream's end, for want of a
// buffer.
int __wrap_io_uring_enter2(unsigned ring, unsigned submitted, unsigned awaited, unsigned flags, sigset_t *arg,
                           size_t bytes) {
    int result = __real_io_uring_enter2(ring, submitted, awaited, flags, arg, bytes);
    unsigned head;
    struct io_uring_cqe *cqe;
    if (!gives_up)
        return result;
    io_uring_for_each_cqe(opened, head, cqe) {
        if (cqe->res == 0)
            cqe->res = -ENOBUFS;
        given_up += cqe->res == -ENOBUFS;
    }
    return result;
}

int __wrap_io_uring_register(unsigned ring, unsigned operation, const void *argument, unsigned count) {
    if (knows_no_walls && operation == IORING_REGISTER_RESTRICTIONS)
        return -EINVAL;
    return __real_io_uring_register(ring, operation, argument, count);
}

// More operations than the submission queue holds, and more completions than the completion queue does.
static void nothing_is_lost_when_the_queues_are_full(void **state) {
    struct fixture *fixture = *state;
    enum { COUNT = COMPLETIONS_MAX + COMPLETIONS_MAX / 2 };
    uint8_t *ended = test_calloc(COUNT, 1);
    char byte;
    for (uint64_t i = 0; i < COUNT; i++)
        io_receive_into(fixture->io, -1, i, &byte, 1);
    for (int i = 0; i < COUNT; i++) {
        struct io_event event = wait_event(fixture->io);
        assert_int_equal(event.result, -EBADF);
        assert_true(event.token < COUNT);
        assert_int_equal(ended[event.token]++, 0);
    }
    assert_true(is_quiet(fixture->io));
    test_free(ended);
}

// The watch over the signals ends when its completion finds no room; it is set up again.
static void signals_survive_an_overflow(void **state) {
    struct fixture *fixture = *state;
    char byte;
    block_signals();
    assert_int_equal(io_signals(fixture->io, 1), 0);
    io_run(fixture->io, 0);
    for (int i = 0; i < 2 * COMPLETIONS_MAX; i++)
        io_receive_into(fixture->io, -1, 2, &byte, 1);
    kill(getpid(), SIGHUP);
    for (int signals = 0, others = 0; signals < 1 || others < 2 * COMPLETIONS_MAX;) {
        struct io_event event = wait_event(fixture->io);
        signals += event.kind == IO_SIGNAL;
        others += event.kind == IO_RECEIVED;
    }
    assert_true(is_quiet(fixture->io));
    kill(getpid(), SIGTERM);
    assert_int_equal(wait_event(fixture->io).result, SIGTERM);
}

// Operations that complete while events are being handled wait for the next io_run, however many they are.
static void handlers_that_fill_the_queue_wait_too(void **state) {
    struct fixture *fixture = *state;
    struct io_event event;
    char byte;
    io_receive_into(fixture->io, -1, 0, &byte, 1);
    io_run(fixture->io, 0);
    int events = 0;
    while (io_next(fixture->io, &event)) {
        events++;
        for (int i = 0; i < 2000; i++)
            io_receive_into(fixture->io, -1, 1, &byte, 1);
    }
    assert_int_equal(events, 1);
    for (int i = 0; i < 2000; i++)
        assert_int_equal(wait_event(fixture->io).token, 1);
}

static void take_byte(struct io *io) {
    struct io_event event;
    assert_true(io_next(io, &event));
    assert_int_equal(event.kind, IO_RECEIVED);
    assert_int_equal(event.result, 1);
    assert_true(event.more);
    buffer_drop(event.buffer);
}

// Arrivals that come while a turn reads are seen at a look, and no sooner.
static void a_look_brings_what_has_come(void **state) {
    struct fixture *fixture = *state;
    struct io_event event;
    int pair[2];
    unix_pair(pair);
    io_receive(fixture->io, pair[0], 1, 0);
    write_all(pair[1], "x", 1);
    io_run(fixture->io, UINT64_MAX);
    take_byte(fixture->io);
    uint64_t entries = io_entries(fixture->io);
    assert_false(io_has_arrivals(fixture->io));
    write_all(pair[1], "x", 1);
    assert_false(io_next(fixture->io, &event));
    assert_true(io_has_arrivals(fixture->io));
    assert_int_equal(io_entries(fixture->io), entries);
    io_poll(fixture->io);
    assert_int_equal(io_entries(fixture->io), entries + 1);
    take_byte(fixture->io);
    assert_false(io_next(fixture->io, &event));
    assert_false(io_has_arrivals(fixture->io));
    close(pair[1]);
    assert_int_equal(wait_event(fixture->io).result, 0);
    io_close_socket(fixture->io, pair[0]);
}

// Nothing is handed over by a look, so no peer hears of the turn's work.
static void a_look_hands_nothing_over(void **state) {
    struct fixture *fixture = *state;
    struct io_event event;
    int pair[2];
    char byte;
    unix_pair(pair);
    io_receive(fixture->io, pair[0], 1, 0);
    write_all(pair[1], "x", 1);
    io_run(fixture->io, UINT64_MAX);
    take_byte(fixture->io);
    io_receive_into(fixture->io, -1, 2, &byte, 1); // would fail at once
    write_all(pair[1], "x", 1);
    assert_true(io_has_arrivals(fixture->io));
    io_poll(fixture->io);
    take_byte(fixture->io);
    assert_false(io_next(fixture->io, &event));
    assert_int_equal(wait_event(fixture->io).token, 2);
    close(pair[1]);
    assert_int_equal(wait_event(fixture->io).result, 0);
    io_close_socket(fixture->io, pair[0]);
}

// Events that come then may be caused by that.
static void where_something_was_handed_over_no_look_is_taken(void **state) {
    struct fixture *fixture = *state;
    struct io_event event;
    int pair[2];
    unix_pair(pair);
    io_receive(fixture->io, pair[0], 1, 0);
    write_all(pair[1], "x", 1);
    io_run(fixture->io, UINT64_MAX);
    take_byte(fixture->io);
    io_shutdown(fixture->io, pair[0], SHUT_WR); // hands over what was noted
    write_all(pair[1], "x", 1);
    assert_false(io_has_arrivals(fixture->io));
    assert_false(io_next(fixture->io, &event));
    io_run(fixture->io, UINT64_MAX);
    take_byte(fixture->io);
    close(pair[1]);
    assert_int_equal(wait_event(fixture->io).result, 0);
    io_close_socket(fixture->io, pair[0]);
}

// A turn that has used up half of the buffers has enough to do.
static void a_turn_with_enough_to_do_takes_no_look(void **state) {
    struct fixture *fixture = *state;
    int pairs[LENT / 2][2];
    for (int at = 0; at < LENT / 2; at++) {
        unix_pair(pairs[at]);
        io_receive(fixture->io, pairs[at][0], (uint64_t)at, 0);
        write_all(pairs[at][1], "x", 1);
    }
    io_run(fixture->io, UINT64_MAX);
    for (int at = 0; at < LENT / 2; at++)
        take_byte(fixture->io);
    write_all(pairs[0][1], "x", 1);
    assert_false(io_has_arrivals(fixture->io));
    io_run(fixture->io, UINT64_MAX);
    take_byte(fixture->io);
    for (int at = 0; at < LENT / 2; at++) {
        close(pairs[at][1]);
        assert_int_equal(wait_event(fixture->io).result, 0);
        io_close_socket(fixture->io, pairs[at][0]);
    }
}

// Linux 6.1 looks for the next buffer at once after an arrival, and io_try lends one alone.
static void a_receive_that_finds_no_second_buffer_is_multishot_too(void **state) {
    (void)state;
    const char *why = "";
    gives_up = true;
    int result = io_try(IO_URING, &why);
    gives_up = false;
    if (result < 0)
        fail_msg("%s", why);
    assert_true(given_up > 0);
}

// Returns the result of an operation that the hub doesn't use, on the hub's own ring.
static int try_nothing(void) {
    struct io_uring_cqe *completion;
    struct io_uring_sqe *sqe = io_uring_get_sqe(opened);
    io_uring_prep_nop(sqe);
    sqe->user_data = 77;
    assert_int_equal(io_uring_submit_and_wait(opened, 1), 1);
    assert_int_equal(io_uring_peek_cqe(opened, &completion), 0);
    assert_true(completion->user_data == 77);
    int result = completion->res;
    io_uring_cqe_seen(opened, completion);
    return result;
}

static void behind_the_wall_there_is_only_what_the_hub_uses(void **state) {
    struct fixture *fixture = *state;
    int pair[2], more = eventfd(0, EFD_CLOEXEC);
    assert_true(io_is_restricted(fixture->io));
    assert_int_equal(try_nothing(), -EACCES);
    assert_int_equal(io_uring_register_eventfd(opened, more), -EACCES);
    io_run(fixture->io, 0);             // sees that these completions have gone
    io_provide_buffers(fixture->io, 1); // lists the buffers anew
    unix_pair(pair);
    io_receive(fixture->io, pair[0], 1, ARRIVAL_BYTES_MAX);
    assert_int_equal(write(pair[1], "x", 1), 1);
    struct io_event event = wait_event(fixture->io);
    assert_int_equal(event.result, 1);
    buffer_drop(event.buffer);
    close(pair[0]);
    close(pair[1]);
    close(more);
}

static void a_kernel_without_restrictions_is_said_to_be_one(void **state) {
    (void)state;
    knows_no_walls = true;
    struct fixture *fixture = fixture_open(100);
    knows_no_walls = false;
    assert_false(io_is_restricted(fixture->io));
    assert_int_equal(try_nothing(), 0);
    fixture_close(fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_lost_when_the_queues_are_full, set_up, tear_down),
        cmocka_unit_test_setup_teardown(signals_survive_an_overflow, set_up, tear_down),
        cmocka_unit_test_setup_teardown(handlers_that_fill_the_queue_wait_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_look_brings_what_has_come, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_look_hands_nothing_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(where_something_was_handed_over_no_look_is_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_turn_with_enough_to_do_takes_no_look, set_up, tear_down),
        cmocka_unit_test_setup_teardown(behind_the_wall_there_is_only_what_the_hub_uses, set_up, tear_down),
        cmocka_unit_test(a_kernel_without_restrictions_is_said_to_be_one),
        cmocka_unit_test(a_receive_that_finds_no_second_buffer_is_multishot_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
