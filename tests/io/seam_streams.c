// The seam on real sockets: streams that make a read or a send stop early.
#include "tests/io/fixture.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

// Arms a receive whenever none is, takes arrivals until `count` bytes are there, and compares them.
struct reading {
    int socket;
    uint64_t token;
    bool armed;
    size_t done;
    uint8_t bytes[64 * 1024];
};

static void reading_arm(struct reading *reading, struct io *io) {
    if (!reading->armed)
        io_receive(io, reading->socket, reading->token, 0);
    reading->armed = true;
}

static void reading_take(struct reading *reading, const struct io_event *event) {
    assert_int_equal(event->kind, IO_RECEIVED);
    assert_int_equal(event->token, reading->token);
    assert_true(event->result > 0);
    assert_true(reading->done + (size_t)event->result <= sizeof reading->bytes);
    memcpy(reading->bytes + reading->done, buffer_arrival(event->buffer), (size_t)event->result);
    reading->done += (size_t)event->result;
    reading->armed = event->more;
    buffer_drop(event->buffer);
}

static void expect_bytes(struct io *io, struct reading *reading, const char *text) {
    while (reading->done < strlen(text)) {
        reading_arm(reading, io);
        struct io_event event = wait_event(io);
        reading_take(reading, &event);
    }
    assert_int_equal(reading->done, strlen(text));
    assert_memory_equal(reading->bytes, text, strlen(text));
    reading->done = 0;
}

static void finish(struct io *io, struct reading *reading, int peer) {
    reading_arm(reading, io);
    close(peer);
    struct io_event event = wait_event(io);
    assert_int_equal(event.result, 0);
    assert_false(event.more);
    io_close_socket(io, reading->socket);
}

static void pass_descriptor(int socket, const char *bytes) {
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec vector = {.iov_base = (char *)bytes, .iov_len = strlen(bytes)};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.space};
    control.header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), &socket, sizeof socket);
    assert_int_equal(sendmsg(socket, &message, 0), strlen(bytes));
}

// A read stops behind bytes with which a descriptor came, though there are more.
static void descriptors_among_the_bytes(void **state) {
    struct io *io = ((struct fixture *)*state)->io;
    struct reading reading = {.token = 1};
    int pair[2];
    unix_pair(pair);
    reading.socket = pair[0];
    reading_arm(&reading, io);
    io_run(io, 0);
    write_all(pair[1], "a", 1);
    pass_descriptor(pair[1], "b");
    write_all(pair[1], "c", 1);
    pass_descriptor(pair[1], "d");
    pass_descriptor(pair[1], "e");
    write_all(pair[1], "f", 1);
    expect_bytes(io, &reading, "abcdef");
    finish(io, &reading, pair[1]);
}

// A read stops before urgent data, though there is more behind it.
static void urgent_data_among_the_bytes(void **state) {
    struct io *io = ((struct fixture *)*state)->io;
    struct reading reading = {.token = 1};
    int pair[2];
    tcp_pair(pair);
    reading.socket = pair[0];
    reading_arm(&reading, io);
    io_run(io, 0);
    for (int round = 0; round < 3; round++) {
        write_all(pair[1], "ab", 2);
        assert_int_equal(send(pair[1], "!", 1, MSG_OOB), 1);
        write_all(pair[1], "cd", 2);
        expect_bytes(io, &reading, "abcd");
    }
    finish(io, &reading, pair[1]);
}

// Bytes and the end are there before the first read.
static void the_end_right_behind_the_bytes(void **state) {
    struct io *io = ((struct fixture *)*state)->io;
    for (int round = 0; round < 4; round++) {
        struct reading reading = {.token = 1};
        int pair[2];
        if (round % 2)
            tcp_pair(pair);
        else
            unix_pair(pair);
        reading.socket = pair[0];
        if (round < 2) { // armed before anything comes
            reading_arm(&reading, io);
            io_run(io, 0);
        }
        write_all(pair[1], "abc", 3);
        shutdown(pair[1], SHUT_WR);
        expect_bytes(io, &reading, "abc");
        finish(io, &reading, pair[1]);
    }
}

// Bytes that the peer takes show before the kernel has room for more.
static void what_is_taken_shows(void **state) {
    struct io *io = ((struct fixture *)*state)->io;
    for (int way = 0; way < 2; way++) {
        int pair[2];
        static uint8_t bytes[8 * 1024 * 1024], out[32 * 1024];
        if (way == 0)
            unix_pair(pair);
        else
            tcp_pair(pair);
        struct iovec vector = {.iov_base = bytes, .iov_len = sizeof bytes};
        io_send(io, pair[0], 5, &vector, 1);
        uint32_t before;
        do {
            before = io_ack_mark(io, pair[0]);
            assert_true(is_quiet(io));
        } while (io_ack_mark(io, pair[0]) != before);
        for (size_t taken = 0; io_ack_mark(io, pair[0]) == before;) {
            ssize_t count = read(pair[1], out, sizeof out);
            assert_true(count > 0 && (taken += (size_t)count) < sizeof bytes);
            io_run(io, 0);
        }
        io_shutdown(io, pair[0], SHUT_RDWR);
        wait_event(io);
        io_close_socket(io, pair[0]);
        close(pair[1]);
        io_run(io, 0);
    }
}

// How much goes out until there is no room for more.
static size_t fill(int socket) {
    static const uint8_t bytes[16 * 1024];
    size_t sent = 0;
    for (ssize_t count; (count = send(socket, bytes, sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL)) > 0;)
        sent += (size_t)count;
    return sent;
}

static int send_buffer(int socket) {
    int bytes;
    assert_int_equal(getsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, &(socklen_t){sizeof bytes}), 0);
    return bytes;
}

// The kernel counts twice the number that it is told. A Unix socket stays as it is.
static void little_is_kept_where_little_may_be(void **state) {
    struct io *io = ((struct fixture *)*state)->io;
    int wide[2], narrow[2], local[2];
    tcp_pair(wide);
    tcp_pair(narrow);
    unix_pair(local);
    int before = send_buffer(local[0]);
    io_limit_backlog(io, narrow[0], 64 * 1024);
    io_limit_backlog(io, local[0], 16 * 1024);
    assert_int_equal(send_buffer(local[0]), before);
    assert_int_equal(send_buffer(narrow[0]), 2 * 64 * 1024);
    assert_true(fill(narrow[0]) < fill(wide[0]));
    io_limit_backlog(io, narrow[0], 0);
    assert_true(send_buffer(narrow[0]) > 2 * 64 * 1024);
    assert_true(fill(narrow[0]) > 0);
    int *const pairs[] = {wide, narrow, local};
    for (unsigned pair = 0; pair < 3; pair++) {
        io_close_socket(io, pairs[pair][0]);
        close(pairs[pair][1]);
    }
    io_run(io, 0);
}

// A peer that shuts its direction down still reads, one that closes doesn't; TCP alone can't tell them apart.
static void who_has_gone(void **state) {
    struct io *io = ((struct fixture *)*state)->io;
    for (int way = 0; way < 3; way++) {
        int pair[2];
        if (way < 2)
            unix_pair(pair);
        else
            tcp_pair(pair);
        assert_false(io_is_peer_gone(io, pair[0]));
        shutdown(pair[1], SHUT_WR);
        struct reading reading = {.socket = pair[0]};
        reading_arm(&reading, io);
        assert_int_equal(wait_event(io).result, 0);
        assert_false(io_is_peer_gone(io, pair[0]));
        if (way == 1)
            shutdown(pair[1], SHUT_RDWR);
        else
            close(pair[1]);
        assert_int_equal(io_is_peer_gone(io, pair[0]), way < 2);
        io_close_socket(io, pair[0]);
        if (way == 1)
            close(pair[1]);
        io_run(io, 0);
    }
}

static void a_peer_comes_from_somewhere(void **state) {
    struct io *io = *state;
    struct io_peer_address from;
    int pair[2];
    unix_pair(pair);
    io_read_peer_address(io, pair[0], &from);
    assert_true(from.is_user);
    assert_int_equal(from.user, geteuid());
    close(pair[0]);
    close(pair[1]);
    tcp_pair(pair);
    io_read_peer_address(io, pair[0], &from);
    static const uint8_t loopback[16] = {127, 0, 0, 1};
    assert_false(from.is_user);
    assert_memory_equal(from.address, loopback, sizeof loopback);
    close(pair[0]);
    close(pair[1]);
}

static int option_of(int socket, int level, int name) {
    int value = 0;
    socklen_t bytes = sizeof value;
    assert_int_equal(getsockopt(socket, level, name, &value, &bytes), 0);
    return value;
}

// Receives the peer's end, watches, and closes what is watched after what came of it.
static void watch_ended(struct io *io, int socket, uint64_t token) {
    struct reading reading = {.socket = socket, .token = token};
    reading_arm(&reading, io);
    assert_int_equal(wait_event(io).result, 0);
    io_watch(io, socket, token);
}

static void end_watch(struct io *io, int socket, uint64_t token, bool more) {
    if (more) {
        io_unwatch(io, socket, token);
        struct io_event event = wait_event(io);
        assert_true(event.kind == IO_GONE && event.token == token && !event.more && event.result < 0);
    }
    io_close_socket(io, socket);
    io_run(io, 0);
}

// A peer that has ended its direction isn't gone until it goes: a Unix socket by its close, TCP by a reset,
// before it is watched or after.
static void who_goes_after_the_end(void **state) {
    struct io *io = ((struct fixture *)*state)->io;
    for (uint64_t way = 0; way < 4; way++) {
        bool tcp = way % 2, early = way / 2;
        struct linger reset = {.l_onoff = 1};
        int pair[2];
        (tcp ? tcp_pair : unix_pair)(pair);
        shutdown(pair[1], SHUT_WR);
        assert_int_equal(setsockopt(pair[1], SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
        if (!early) {
            watch_ended(io, pair[0], way);
            assert_true(is_quiet(io));
            write_all(pair[0], "answer", 6);
            char bytes[6];
            assert_int_equal(read_all(pair[1], bytes, 6), 0);
            assert_true(is_quiet(io));
            close(pair[1]);
        } else {
            struct reading reading = {.socket = pair[0], .token = way};
            reading_arm(&reading, io);
            assert_int_equal(wait_event(io).result, 0);
            close(pair[1]);
            assert_true(is_quiet(io));
            io_watch(io, pair[0], way);
        }
        struct io_event event = wait_event(io);
        assert_true(event.kind == IO_GONE && event.token == way && event.result == 0);
        end_watch(io, pair[0], way, event.more);
        assert_true(is_quiet(io));
    }
}

static void a_watch_is_ended(void **state) {
    struct io *io = ((struct fixture *)*state)->io;
    for (uint64_t way = 0; way < 2; way++) {
        int pair[2];
        (way ? tcp_pair : unix_pair)(pair);
        shutdown(pair[1], SHUT_WR);
        watch_ended(io, pair[0], way);
        assert_true(is_quiet(io));
        if (way) { // or nobody would ever tell that the other machine has gone
            assert_int_equal(option_of(pair[0], SOL_SOCKET, SO_KEEPALIVE), 1);
            assert_int_equal(option_of(pair[0], IPPROTO_TCP, TCP_KEEPIDLE), PROBE_S);
            assert_int_equal(option_of(pair[0], IPPROTO_TCP, TCP_KEEPINTVL), PROBE_S);
        }
        end_watch(io, pair[0], way, true);
        close(pair[1]);
        assert_true(is_quiet(io));
    }
}

// The number that was closed is another connection's at once. A copy of the old one lives on, as in a child
// process, and what happens to it is nobody's business any more.
static void a_number_used_again(void **state) {
    struct io *io = ((struct fixture *)*state)->io;
    int copies[50], peers[50], number = -1;
    for (int round = 0; round < 50; round++) {
        struct reading reading = {.token = (uint64_t)round};
        int pair[2];
        unix_pair(pair);
        reading.socket = pair[0];
        write_all(pair[1], "x", 1);
        expect_bytes(io, &reading, "x");
        copies[round] = dup(pair[0]);
        peers[round] = dup(pair[1]);
        shutdown(pair[1], SHUT_WR);
        finish(io, &reading, pair[1]);
        io_run(io, 0);
        assert_true(round == 0 || number == pair[0]);
        number = pair[0];
        if (round > 0)
            write_all(copies[round - 1], "z", 1);
    }
    for (int round = 0; round < 50; round++) {
        close(copies[round]);
        close(peers[round]);
    }
    assert_true(is_quiet(io));
}

static size_t drain(int socket) {
    static char bytes[1 << 20];
    size_t count = 0;
    for (ssize_t part; (part = recv(socket, bytes, sizeof bytes, MSG_DONTWAIT)) > 0;)
        count += (size_t)part;
    return count;
}

// Again and again a send finds the socket full and the peer makes room; each time all of it arrives.
static void room_comes_and_goes(void **state) {
    struct io *io = ((struct fixture *)*state)->io;
    enum { BYTES = 3 << 20 };
    uint8_t *memory = test_calloc(1, BYTES);
    for (int transport = 0; transport < 2; transport++) {
        int pair[2];
        if (transport)
            tcp_pair(pair);
        else
            unix_pair(pair);
        for (int round = 0; round < 10; round++) {
            struct io_event event;
            size_t arrived = 0;
            io_send(io, pair[0], 1, &(struct iovec){memory, BYTES}, 1);
            for (bool sent = false; !sent || arrived < BYTES;) {
                io_run(io, io_now(io) + SECOND_NS / 1000);
                while (io_next(io, &event)) {
                    assert_int_equal(event.result, BYTES);
                    assert_false(sent);
                    sent = true;
                }
                arrived += drain(pair[1]);
            }
            assert_int_equal(arrived, BYTES);
        }
        io_close_socket(io, pair[0]);
        close(pair[1]);
    }
    test_free(memory);
}

// The peer's reading is no reason to return.
static void room_that_nobody_waits_for(void **state) {
    struct io *io = ((struct fixture *)*state)->io;
    enum { BYTES = 1 << 20 };
    uint8_t *memory = test_calloc(1, BYTES);
    int pair[2];
    unix_pair(pair);
    io_receive(io, pair[0], 2, 0);
    io_send(io, pair[0], 1, &(struct iovec){memory, BYTES}, 1);
    assert_true(is_quiet(io));
    struct io_event event;
    for (size_t arrived = 0; arrived < BYTES;) {
        arrived += drain(pair[1]);
        io_run(io, io_now(io) + SECOND_NS / 1000);
        while (io_next(io, &event))
            assert_int_equal(event.result, BYTES);
    }
    for (int round = 0; round < 3; round++) {
        io_send(io, pair[0], 1, &(struct iovec){memory, 1}, 1);
        assert_int_equal(wait_event(io).result, 1);
        assert_int_equal(drain(pair[1]), 1);
        uint64_t deadline_ns = io_now(io) + SECOND_NS / 50;
        io_run(io, deadline_ns);
        assert_false(io_next(io, &event));
        assert_true(io_now(io) >= deadline_ns);
    }
    close(pair[1]);
    assert_int_equal(wait_event(io).result, 0);
    io_close_socket(io, pair[0]);
    test_free(memory);
}

int main(int argc, char **argv) {
    choose_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(descriptors_among_the_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(urgent_data_among_the_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_end_right_behind_the_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_peer_comes_from_somewhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_has_gone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_goes_after_the_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_watch_is_ended, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_taken_shows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(little_is_kept_where_little_may_be, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_number_used_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(room_comes_and_goes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(room_that_nobody_waits_for, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
