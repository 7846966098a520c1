// The seam on real sockets: what goes well.
#include "tests/io/fixture.h"

#include <netinet/in.h>
#include <semaphore.h>
#include <stdatomic.h>

static void echo(struct io *io, const int pair[2]) {
    struct iovec vector = {.iov_base = (char[]){"there"}, .iov_len = 5};
    char back[5];
    io_receive(io, pair[0], 1, 0);
    io_send(io, pair[0], 1, &vector, 1);
    write_all(pair[1], "here", 4);
    bool sent = false, received = false;
    while (!sent || !received) {
        struct io_event event = wait_event(io);
        assert_int_equal(event.token, 1);
        if (event.kind == IO_SENT) {
            assert_false(sent || event.more);
            assert_int_equal(event.result, 5);
            sent = true;
        } else {
            assert_int_equal(event.kind, IO_RECEIVED);
            assert_false(received);
            assert_true(event.more);
            assert_int_equal(event.result, 4);
            assert_memory_equal(buffer_arrival(event.buffer), "here", 4);
            assert_int_equal(event.buffer->references, 1);
            buffer_drop(event.buffer);
            received = true;
        }
    }
    assert_int_equal(read_all(pair[1], back, 5), 0);
    assert_memory_equal(back, "there", 5);
    close(pair[1]);
    struct io_event event = wait_event(io);
    assert_int_equal(event.kind, IO_RECEIVED);
    assert_int_equal(event.result, 0);
    assert_false(event.more);
    assert_null(event.buffer);
    io_close_socket(io, pair[0]);
}

static void both_ways_over_a_unix_socket(void **state) {
    struct fixture *fixture = *state;
    int pair[2];
    unix_pair(pair);
    echo(fixture->io, pair);
}

static void both_ways_over_tcp(void **state) {
    struct fixture *fixture = *state;
    int pair[2];
    tcp_pair(pair);
    echo(fixture->io, pair);
}

struct transfer {
    pthread_t thread;
    sem_t start;
    int socket;
    size_t bytes;
    uint8_t *memory;
    int result;
};

static void *write_stream(void *argument) {
    struct transfer *transfer = argument;
    write_all(transfer->socket, transfer->memory, transfer->bytes);
    close(transfer->socket);
    return NULL;
}

static void *read_stream(void *argument) {
    struct transfer *transfer = argument;
    sem_wait(&transfer->start);
    transfer->result = read_all(transfer->socket, transfer->memory, transfer->bytes);
    return NULL;
}

static void transfer_open(struct transfer *transfer, int socket, size_t bytes, void *(*body)(void *)) {
    *transfer = (struct transfer){.socket = socket, .bytes = bytes};
    transfer->memory = test_malloc(bytes);
    fill_pattern(transfer->memory, bytes);
    sem_init(&transfer->start, 0, 0);
    pthread_create(&transfer->thread, NULL, body, transfer);
}

static void transfer_close(struct transfer *transfer) {
    pthread_join(transfer->thread, NULL);
    sem_destroy(&transfer->start);
    test_free(transfer->memory);
}

// A multishot brings a long stream in order, and is armed again only where it ended.
static void a_stream_arrives_in_order(void **state) {
    struct fixture *fixture = *state;
    int pair[2];
    tcp_pair(pair);
    enum { BYTES = 4 << 20 };
    struct transfer transfer;
    transfer_open(&transfer, pair[1], BYTES, write_stream);
    size_t done = 0, arrivals = 0;
    io_receive(fixture->io, pair[0], 7, 0);
    for (;;) {
        struct io_event event = wait_event(fixture->io);
        assert_int_equal(event.kind, IO_RECEIVED);
        assert_int_equal(event.token, 7);
        if (event.result == 0)
            break;
        if (event.result > 0) {
            assert_true(done + (size_t)event.result <= BYTES);
            assert_memory_equal(buffer_arrival(event.buffer), transfer.memory + done, (size_t)event.result);
            buffer_drop(event.buffer);
            done += (size_t)event.result;
            arrivals++;
        } else {
            assert_int_equal(event.result, -ENOBUFS);
            assert_false(event.more);
        }
        if (!event.more)
            io_receive(fixture->io, pair[0], 7, 0);
    }
    assert_int_equal(done, BYTES);
    assert_true(arrivals >= BYTES / ARRIVAL_BYTES_MAX);
    io_close_socket(fixture->io, pair[0]);
    transfer_close(&transfer);
}

static void once_receives_once(void **state) {
    struct fixture *fixture = *state;
    int pair[2];
    unix_pair(pair);
    for (int round = 0; round < 3 * LENT; round++) {
        io_receive(fixture->io, pair[0], 9, ARRIVAL_BYTES_MAX);
        if (round % 2)
            io_run(fixture->io, 0); // it waits before the byte comes
        write_all(pair[1], "a", 1);
        struct io_event event = wait_event(fixture->io);
        assert_int_equal(event.result, 1);
        assert_false(event.more);
        buffer_drop(event.buffer);
    }
    write_all(pair[1], "b", 1);
    assert_true(is_quiet(fixture->io));
    io_close_socket(fixture->io, pair[0]);
    close(pair[1]);
}

static void once_brings_no_more_than_was_asked_for(void **state) {
    struct fixture *fixture = *state;
    int pair[2];
    unix_pair(pair);
    write_all(pair[1], "abcdefgh", 8);
    for (const char *left = "abcdefgh"; *left; left += 2) {
        io_receive(fixture->io, pair[0], 9, 2);
        struct io_event event = wait_event(fixture->io);
        assert_int_equal(event.result, 2);
        assert_memory_equal(buffer_arrival(event.buffer), left, 2);
        assert_false(event.more);
        buffer_drop(event.buffer);
    }
    io_close_socket(fixture->io, pair[0]);
    close(pair[1]);
}

static void receive_into_fills_the_callers_memory(void **state) {
    struct fixture *fixture = *state;
    int pair[2];
    tcp_pair(pair);
    enum { BYTES = 1 << 20 };
    struct transfer transfer;
    transfer_open(&transfer, pair[1], BYTES, write_stream);
    uint8_t *memory = test_malloc(BYTES);
    for (size_t done = 0; done < BYTES;) {
        io_receive_into(fixture->io, pair[0], 3, memory + done, BYTES - done);
        struct io_event event = wait_event(fixture->io);
        assert_int_equal(event.kind, IO_RECEIVED);
        assert_int_equal(event.token, 3);
        assert_true(event.result > 0);
        assert_false(event.more);
        assert_null(event.buffer);
        done += (size_t)event.result;
    }
    assert_memory_equal(memory, transfer.memory, BYTES);
    io_close_socket(fixture->io, pair[0]);
    test_free(memory);
    transfer_close(&transfer);
}

// The reader begins only when the socket has been full for a while: the kernel sends the rest by itself.
static void send_to_a_late_reader(struct io *io, const int pair[2], unsigned count, size_t vector_bytes) {
    size_t bytes = count * vector_bytes;
    struct transfer transfer;
    transfer_open(&transfer, pair[1], bytes, read_stream);
    uint8_t *memory = test_malloc(bytes);
    memcpy(memory, transfer.memory, bytes);
    memset(transfer.memory, 0, bytes);
    struct iovec *vectors = test_calloc(count, sizeof *vectors);
    for (unsigned i = 0; i < count; i++)
        vectors[i] = (struct iovec){.iov_base = memory + i * vector_bytes, .iov_len = vector_bytes};
    io_send(io, pair[0], 5, vectors, count);
    assert_true(is_quiet(io));
    sem_post(&transfer.start);
    struct io_event event = wait_event(io);
    assert_int_equal(event.kind, IO_SENT);
    assert_int_equal(event.result, bytes);
    assert_false(event.more);
    pthread_join(transfer.thread, NULL);
    assert_int_equal(transfer.result, 0);
    assert_memory_equal(transfer.memory, memory, bytes);
    sem_destroy(&transfer.start);
    test_free(transfer.memory);
    test_free(vectors);
    test_free(memory);
    io_close_socket(io, pair[0]);
    close(pair[1]);
}

static void many_vectors_leave_in_order(void **state) {
    struct fixture *fixture = *state;
    int pair[2];
    tcp_pair(pair);
    send_to_a_late_reader(fixture->io, pair, SEND_VECTORS_MAX, 256 * 1024);
    unix_pair(pair);
    send_to_a_late_reader(fixture->io, pair, SEND_VECTORS_MAX, 16 * 1024);
    unix_pair(pair);
    send_to_a_late_reader(fixture->io, pair, 1, 4 << 20);
}

static void one_accept_takes_a_hundred(void **state) {
    struct fixture *fixture = *state;
    enum { COUNT = 100 };
    struct listener listener = listen_on("tcp://127.0.0.1:0");
    int dialled[COUNT];
    io_accept(fixture->io, listener.socket, 11);
    for (int i = 0; i < COUNT; i++) {
        dialled[i] = listener_dial(&listener.address);
        assert_true(dialled[i] >= 0);
    }
    for (int i = 0; i < COUNT; i++) {
        struct io_event event = wait_event(fixture->io);
        assert_int_equal(event.kind, IO_ACCEPTED);
        assert_int_equal(event.token, 11);
        assert_true(event.result >= 0);
        assert_true(event.more);
        io_close_socket(fixture->io, event.result);
    }
    io_cancel(fixture->io, listener.socket, 11);
    struct io_event event = wait_event(fixture->io);
    assert_int_equal(event.result, -ECANCELED);
    assert_false(event.more);
    for (int i = 0; i < COUNT; i++) {
        char byte;
        assert_int_equal(read(dialled[i], &byte, 1), 0);
        close(dialled[i]);
    }
    listener_close(&listener);
}

struct waker {
    struct io *io;
    struct waker *other;
    pthread_barrier_t *barrier;
    _Atomic uint32_t *turn;
    uint32_t parity;
    bool late;
};

enum { WAKES = 2000 };

static void *wake_each_other(void *argument) {
    struct waker *waker = argument;
    struct fixture *fixture = fixture_open(LENT);
    struct io *io = waker->io = fixture->io;
    pthread_barrier_wait(waker->barrier);
    struct io_event event;
    while (!waker->late && atomic_load(waker->turn) < WAKES) {
        if (atomic_load(waker->turn) % 2 == waker->parity) {
            atomic_fetch_add(waker->turn, 1);
            io_wake(io, waker->other->io);
        }
        uint64_t deadline_ns = io_now(io) + PATIENCE_NS;
        io_run(io, atomic_load(waker->turn) < WAKES ? deadline_ns : 0);
        waker->late = io_now(io) >= deadline_ns || io_next(io, &event);
    }
    pthread_barrier_wait(waker->barrier);
    fixture_close(fixture);
    return NULL;
}

static void two_shards_wake_each_other(void **state) {
    (void)state;
    _Atomic uint32_t turn = 0;
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 2);
    struct waker wakers[2];
    pthread_t threads[2];
    for (uint32_t i = 0; i < 2; i++)
        wakers[i] = (struct waker){.other = &wakers[1 - i], .barrier = &barrier, .turn = &turn, .parity = i};
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, wake_each_other, &wakers[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_false(wakers[0].late);
    assert_false(wakers[1].late);
    assert_int_equal(turn, WAKES);
    pthread_barrier_destroy(&barrier);
}

static void signals_are_events(void **state) {
    struct fixture *fixture = *state;
    static const int NUMBERS[] = {SIGHUP, SIGTERM, SIGINT};
    block_signals();
    kill(getpid(), SIGHUP); // one that is there already
    assert_int_equal(io_signals(fixture->io, 13), 0);
    for (int i = 0; i < 30; i++) {
        if (i > 0)
            kill(getpid(), NUMBERS[i % 3]);
        struct io_event event = wait_event(fixture->io);
        assert_int_equal(event.kind, IO_SIGNAL);
        assert_int_equal(event.token, 13);
        assert_int_equal(event.result, NUMBERS[i % 3]);
        assert_true(event.more);
    }
    unsigned seen = 0;
    for (int i = 0; i < 3; i++)
        kill(getpid(), NUMBERS[i]);
    for (int i = 0; i < 3; i++)
        seen |= 1U << wait_event(fixture->io).result;
    assert_int_equal(seen, 1U << SIGHUP | 1U << SIGTERM | 1U << SIGINT);
    assert_true(is_quiet(fixture->io));
}

static void it_dials(void **state) {
    struct fixture *fixture = *state;
    static const char *const uris[] = {"tcp://127.0.0.1:0", "tcp://[::1]:0"};
    for (size_t at = 0; at < sizeof uris / sizeof *uris; at++) {
        struct listener listener = listen_on(uris[at]);
        int pair[2];
        pair[0] =
            io_connect(fixture->io, (struct sockaddr *)&listener.address.storage, listener.address.bytes, 7);
        assert_true(pair[0] >= 0);
        struct io_event event = wait_event(fixture->io);
        assert_true(event.kind == IO_CONNECTED && event.token == 7 && event.result == 0 && !event.more);
        pair[1] = accept(listener.socket, NULL, NULL);
        assert_true(pair[1] >= 0);
        listener_close(&listener);
        echo(fixture->io, pair);
    }
}

static void who_isnt_there_isnt_dialled(void **state) {
    struct fixture *fixture = *state;
    struct listener listener = listen_on("tcp://127.0.0.1:0");
    struct sockaddr_storage address = listener.address.storage;
    socklen_t bytes = listener.address.bytes;
    listener_close(&listener);
    int dialled = io_connect(fixture->io, (struct sockaddr *)&address, bytes, 7);
    assert_true(dialled >= 0);
    struct io_event event = wait_event(fixture->io);
    assert_true(event.kind == IO_CONNECTED && event.token == 7 && event.result == -ECONNREFUSED);
    io_close_socket(fixture->io, dialled);
}

// The listener takes nobody in, and this connection is one too many: it gets no answer.
static void dialling_is_given_up(void **state) {
    struct fixture *fixture = *state;
    enum { MANY = 8 };
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t bytes = sizeof address;
    int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), dialled[MANY], waiting = 0;
    assert_int_equal(bind(listening, (struct sockaddr *)&address, bytes), 0);
    assert_int_equal(listen(listening, 0), 0);
    assert_int_equal(getsockname(listening, (struct sockaddr *)&address, &bytes), 0);
    for (int at = 0; at < MANY; at++)
        dialled[at] = io_connect(fixture->io, (struct sockaddr *)&address, bytes, (uint64_t)at);
    bool done[MANY] = {false};
    io_run(fixture->io, io_now(fixture->io) + SECOND_NS / 50);
    for (struct io_event event; io_next(fixture->io, &event);)
        done[event.token] = true;
    for (int at = 0; at < MANY; at++) {
        if (!done[at]) {
            io_shutdown(fixture->io, dialled[at], SHUT_RDWR);
            waiting++;
        }
    }
    assert_true(waiting > 0);
    for (; waiting > 0; waiting--) {
        struct io_event event = wait_event(fixture->io);
        assert_true(event.kind == IO_CONNECTED && event.result < 0 && !done[event.token]);
        done[event.token] = true;
    }
    for (int at = 0; at < MANY; at++)
        io_close_socket(fixture->io, dialled[at]);
    close(listening);
}

// To the deadline, not earlier and not twice as long; io_uring submits and waits in one entry.
static void the_deadline_is_kept(void **state) {
    struct fixture *fixture = *state;
    int pair[2];
    struct io_event event;
    unix_pair(pair);
    io_run(fixture->io, 0);
    io_receive(fixture->io, pair[0], 1, 0);
    uint64_t deadline_ns = io_now(fixture->io) + SECOND_NS / 20;
    uint64_t entries = io_entries(fixture->io);
    io_run(fixture->io, deadline_ns);
    assert_true(io_now(fixture->io) >= deadline_ns);
    uint64_t submitting = backend == IO_EPOLL ? 1 : 0;
    if (!spin_ns)
        assert_int_equal(io_entries(fixture->io) - entries, 1 + submitting);
    assert_false(io_next(fixture->io, &event));
    io_run(fixture->io, 1); // long past
    if (!spin_ns)
        assert_int_equal(io_entries(fixture->io) - entries, 2 + submitting);
    io_cancel(fixture->io, pair[0], 99); // what completes in silence is no event
    deadline_ns = io_now(fixture->io) + SECOND_NS / 20;
    io_run(fixture->io, deadline_ns);
    assert_true(io_now(fixture->io) >= deadline_ns);
    close(pair[1]);
    assert_int_equal(wait_event(fixture->io).result, 0);
    io_close_socket(fixture->io, pair[0]);
}

// A turn has something to do at once, again and again, and then nothing for long. The deadline is kept, and
// events that come while it looks and while it sleeps are there.
static void short_waits_and_a_long_one(void **state) {
    struct fixture *fixture = *state;
    struct io *io = fixture->io;
    char byte;
    int pair[2];
    unix_pair(pair);
    for (int round = 0; round < 20; round++) {
        io_receive_into(io, pair[0], 1, &byte, 1);
        write_all(pair[1], "x", 1);
        assert_int_equal(wait_event(io).result, 1);
    }
    for (int round = 0; round < 2; round++) {
        uint64_t deadline_ns = io_now(io) + SECOND_NS / (round ? 10000 : 100);
        struct io_event event;
        io_run(io, deadline_ns);
        assert_true(io_now(io) >= deadline_ns);
        assert_false(io_next(io, &event));
    }
    io_receive_into(io, pair[0], 1, &byte, 1);
    assert_true(is_quiet(io));
    close(pair[1]);
    assert_int_equal(wait_event(io).result, 0);
    io_close_socket(io, pair[0]);
}

int main(int argc, char **argv) {
    choose_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(both_ways_over_a_unix_socket, set_up, tear_down),
        cmocka_unit_test_setup_teardown(both_ways_over_tcp, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stream_arrives_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(once_receives_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(once_brings_no_more_than_was_asked_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(receive_into_fills_the_callers_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_vectors_leave_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_accept_takes_a_hundred, set_up, tear_down),
        cmocka_unit_test(two_shards_wake_each_other),
        cmocka_unit_test_setup_teardown(signals_are_events, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_dials, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_isnt_there_isnt_dialled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(dialling_is_given_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_deadline_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(short_waits_and_a_long_one, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
