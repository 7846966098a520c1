// io/uring.c where its queues are full.
#include "tests/io/fixture.h"

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

// What completes while events are being handled waits for the next io_run, however much that is.
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_lost_when_the_queues_are_full, set_up, tear_down),
        cmocka_unit_test_setup_teardown(signals_survive_an_overflow, set_up, tear_down),
        cmocka_unit_test_setup_teardown(handlers_that_fill_the_queue_wait_too, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
