// The seam on real sockets: how much is lent may change while receives are under way.
#include "tests/io/fixture.h"

enum { STREAMS = 5, ROUNDS = 20 };

struct streams {
    struct fixture *fixture;
    int pairs[STREAMS][2];
};

static void hcs_http_open(struct streams *streams) {
    streams->fixture = fixture_open(100);
    for (unsigned index = 0; index < STREAMS; index++) {
        unix_pair(streams->pairs[index]);
        io_receive(streams->fixture->io, streams->pairs[index][0], index, 0);
    }
    assert_true(is_quiet(streams->fixture->io));
}

static void streams_close(struct streams *streams) {
    for (unsigned index = 0; index < STREAMS; index++) {
        close(streams->pairs[index][1]);
        struct io_event event = wait_event(streams->fixture->io);
        while (event.result == -ENOBUFS) {
            io_receive(streams->fixture->io, streams->pairs[index][0], index, 0);
            event = wait_event(streams->fixture->io);
        }
        assert_true(event.result == 0 && event.token == index);
        io_close_socket(streams->fixture->io, streams->pairs[index][0]);
    }
    fixture_close(streams->fixture);
}

static void write_to_all(const struct streams *streams, unsigned round) {
    for (unsigned index = 0; index < STREAMS; index++)
        write_all(streams->pairs[index][1], &(char){(char)(round * STREAMS + index)}, 1);
}

// Each stream's byte comes as it was written.
static void hear_all(const struct streams *streams, unsigned round) {
    for (unsigned heard = 0; heard < STREAMS;) {
        struct io_event event = wait_event(streams->fixture->io);
        unsigned index = (unsigned)event.token;
        assert_true(event.result == 1 || event.result == -ENOBUFS);
        if (event.result == 1) {
            assert_int_equal(buffer_arrival(event.buffer)[0], (uint8_t)(round * STREAMS + index));
            heard++;
        }
        buffer_drop(event.buffer);
        if (!event.more)
            io_receive(streams->fixture->io, streams->pairs[index][0], index, 0);
    }
}

// While nobody else has any.
static void expect_lent(const struct streams *streams, uint32_t count) {
    const struct buffer_pool *pool = &streams->fixture->pool;
    assert_int_equal(pool->made - pool->free_count, count);
}

static void what_is_lent_is_taken_back_and_lent_again(void **state) {
    (void)state;
    static const uint32_t counts[] = {2, 1, LENT / 2, 2 * LENT, 1, LENT};
    struct streams streams;
    unsigned round = 0;
    hcs_http_open(&streams);
    for (unsigned step = 0; step < sizeof counts / sizeof *counts; step++) {
        io_provide_buffers(streams.fixture->io, counts[step]);
        assert_true(is_quiet(streams.fixture->io));
        expect_lent(&streams, counts[step] < LENT ? counts[step] : LENT);
        for (unsigned end = round + ROUNDS; round < end; round++) {
            write_to_all(&streams, round);
            hear_all(&streams, round);
        }
    }
    streams_close(&streams);
}

// Arrivals that nobody has looked at come as they were.
static void what_has_arrived_stays(void **state) {
    (void)state;
    struct streams streams;
    hcs_http_open(&streams);
    for (unsigned round = 0; round < ROUNDS; round++) {
        write_to_all(&streams, round);
        io_run(streams.fixture->io, io_now(streams.fixture->io) + PATIENCE_NS);
        io_provide_buffers(streams.fixture->io, 1);
        hear_all(&streams, round);
        io_provide_buffers(streams.fixture->io, LENT);
        assert_true(is_quiet(streams.fixture->io));
        expect_lent(&streams, LENT);
    }
    streams_close(&streams);
}

// A turn that fills few has the same ones filled by the next.
static void what_comes_home_is_filled_first(void **state) {
    (void)state;
    struct streams streams;
    const struct buffer *before = NULL;
    hcs_http_open(&streams);
    for (unsigned round = 0; round < ROUNDS; round++) {
        write_all(streams.pairs[0][1], "x", 1);
        struct io_event event = wait_event(streams.fixture->io);
        assert_true(event.result == 1 && event.more);
        assert_true(!before || event.buffer == before);
        before = event.buffer;
        buffer_drop(event.buffer);
    }
    streams_close(&streams);
}

// Takes one event; returns how many bytes it brought, which go on where its stream had come to.
static unsigned hear_one(const struct streams *streams, unsigned heard[STREAMS]) {
    struct io_event event = wait_event(streams->fixture->io);
    unsigned index = (unsigned)event.token, count = event.result > 0 ? (unsigned)event.result : 0;
    assert_true(count > 0 || event.result == -ENOBUFS);
    for (unsigned at = 0; at < count; at++)
        assert_int_equal(buffer_arrival(event.buffer)[at], (uint8_t)(heard[index]++ * STREAMS + index));
    buffer_drop(event.buffer);
    if (!event.more)
        io_receive(streams->fixture->io, streams->pairs[index][0], index, 0);
    return count;
}

// A buffer that is lent while others are filled, and nobody has looked at those, is never one of them.
static void what_waits_to_be_read_is_not_lent(void **state) {
    (void)state;
    struct streams streams;
    struct io *io;
    unsigned heard[STREAMS] = {0};
    hcs_http_open(&streams);
    io = streams.fixture->io;
    for (unsigned round = 0; round < 2 * ROUNDS; round += 2) {
        write_to_all(&streams, round);
        io_run(io, io_now(io) + PATIENCE_NS);
        unsigned count = hear_one(&streams, heard);
        write_to_all(&streams, round + 1);
        io_run(io, io_now(io) + PATIENCE_NS);
        while (count < 2 * STREAMS)
            count += hear_one(&streams, heard);
    }
    streams_close(&streams);
}

int main(int argc, char **argv) {
    choose_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_lent_is_taken_back_and_lent_again),
        cmocka_unit_test(what_has_arrived_stays),
        cmocka_unit_test(what_comes_home_is_filled_first),
        cmocka_unit_test(what_waits_to_be_read_is_not_lent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
