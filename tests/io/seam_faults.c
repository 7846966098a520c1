// The seam on real sockets: what ends or is refused.
#include "tests/io/fixture.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "core/base/memory.h"

static void expect_end(struct io *io, uint64_t token, int32_t result) {
    struct io_event event = wait_event(io);
    assert_int_equal(event.token, token);
    assert_int_equal(event.result, result);
    assert_false(event.more);
    assert_null(event.buffer);
}

// The pool's bound is what the kernel has on loan. With all of it held, an arrival finds nothing. With one
// buffer home again, the stream goes on where it stopped.
static void no_buffer_left_and_back_again(void **state) {
    (void)state;
    struct fixture *fixture = fixture_open(LENT);
    struct buffer *held[LENT];
    int pair[2];
    unix_pair(pair);
    io_receive(fixture->io, pair[0], 1, 0);
    for (int i = 0; i < LENT; i++) {
        write_all(pair[1], &(char){(char)('a' + i)}, 1);
        struct io_event event = wait_event(fixture->io);
        assert_int_equal(event.result, 1);
        held[i] = event.buffer;
    }
    write_all(pair[1], "z", 1);
    expect_end(fixture->io, 1, -ENOBUFS);
    for (int i = 0; i < LENT; i++)
        assert_int_equal(buffer_arrival(held[i])[0], 'a' + i);
    buffer_drop(held[0]);
    io_receive(fixture->io, pair[0], 1, 0);
    struct io_event event = wait_event(fixture->io);
    assert_int_equal(event.result, 1);
    assert_int_equal(buffer_arrival(event.buffer)[0], 'z');
    for (int i = 1; i < LENT; i++)
        buffer_drop(held[i]);
    buffer_drop(event.buffer);
    close(pair[1]);
    event = wait_event(fixture->io);
    if (event.result == -ENOBUFS) { // it looked for one while the only one was held
        io_receive(fixture->io, pair[0], 1, 0);
        event = wait_event(fixture->io);
    }
    assert_int_equal(event.result, 0);
    assert_false(event.more);
    io_close_socket(fixture->io, pair[0]);
    fixture_close(fixture);
}

static void cancel_ends_each_kind(void **state) {
    struct fixture *fixture = *state;
    struct io *io = fixture->io;
    struct listener listener = listen_on("tcp://127.0.0.1:0");
    char byte;
    int pair[2];
    unix_pair(pair);
    io_receive(io, pair[0], 1, 0);
    io_run(io, 0);
    io_cancel(io, pair[0], 1);
    io_run(io, 0);
    io_cancel(io, pair[0], 1); // it has ended, though nobody knows yet
    expect_end(io, 1, -ECANCELED);
    io_receive(io, pair[0], 2, ARRIVAL_BYTES_MAX);
    io_cancel(io, pair[0], 2);
    expect_end(io, 2, -ECANCELED);
    io_receive_into(io, pair[0], 3, &byte, 1);
    io_cancel(io, pair[0], 3);
    expect_end(io, 3, -ECANCELED);
    io_accept(io, listener.socket, 4);
    io_cancel(io, listener.socket, 4);
    expect_end(io, 4, -ECANCELED);
    io_cancel(io, listener.socket, 4);
    io_cancel(io, pair[0], 99);
    assert_true(is_quiet(io));
    listener_close(&listener);
    io_close_socket(io, pair[0]);
    close(pair[1]);
}

// A cancel means one token: its neighbour goes on, and so does a send under the same token.
static void cancel_ends_nothing_else(void **state) {
    struct fixture *fixture = *state;
    struct io *io = fixture->io;
    enum { BYTES = 4 << 20 };
    uint8_t *memory = test_calloc(1, BYTES);
    struct iovec vector = {.iov_base = memory, .iov_len = BYTES};
    int pair[2], cluster_members[2];
    unix_pair(pair);
    unix_pair(cluster_members);
    io_receive(io, cluster_members[0], 2, 0);
    io_receive(io, pair[0], 1, 0);
    io_send(io, pair[0], 1, &vector, 1);
    assert_true(is_quiet(io));
    io_cancel(io, pair[0], 1);
    expect_end(io, 1, -ECANCELED);
    assert_true(is_quiet(io));
    close(cluster_members[1]);
    expect_end(io, 2, 0);
    close(pair[1]);
    struct io_event event = wait_event(io);
    assert_int_equal(event.kind, IO_SENT);
    assert_true(event.result < BYTES);
    io_close_socket(io, pair[0]);
    io_close_socket(io, cluster_members[0]);
    io_run(io, 0);
    test_free(memory);
}

static void a_reset_is_an_error(void **state) {
    struct fixture *fixture = *state;
    int pair[2];
    tcp_pair(pair);
    io_receive(fixture->io, pair[0], 1, 0);
    io_run(fixture->io, 0);
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    setsockopt(pair[1], SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close(pair[1]);
    expect_end(fixture->io, 1, -ECONNRESET);
    io_send(fixture->io, pair[0], 1, &(struct iovec){.iov_base = (char[]){"x"}, .iov_len = 1}, 1);
    expect_end(fixture->io, 1, -EPIPE);
    io_close_socket(fixture->io, pair[0]);
}

// In the order noted: the bytes, the end, the close; and the socket that gets the same number next is not
// shut down.
static void shutdown_comes_between_send_and_close(void **state) {
    struct fixture *fixture = *state;
    struct io *io = fixture->io;
    for (int round = 0; round < 100; round++) {
        int pair[2], next[2];
        char byte;
        unix_pair(pair);
        io_send(io, pair[0], 1, &(struct iovec){.iov_base = (char[]){"x"}, .iov_len = 1}, 1);
        io_shutdown(io, pair[0], SHUT_WR);
        assert_int_equal(wait_event(io).result, 1);
        assert_int_equal(read(pair[1], &byte, 1), 1);
        assert_int_equal(read(pair[1], &byte, 1), 0);
        io_shutdown(io, pair[0], SHUT_RDWR);
        io_close_socket(io, pair[0]);
        io_run(io, 0);
        unix_pair(next);
        assert_int_equal(next[0], pair[0]);
        write_all(next[1], "y", 1);
        assert_int_equal(read(next[0], &byte, 1), 1);
        close(next[0]);
        close(next[1]);
        close(pair[1]);
    }
}

static void shutdown_ends_what_is_under_way(void **state) {
    struct fixture *fixture = *state;
    enum { BYTES = 32 << 20 };
    uint8_t *memory = test_calloc(1, BYTES);
    int pair[2];
    tcp_pair(pair);
    io_receive(fixture->io, pair[0], 1, 0);
    io_send(fixture->io, pair[0], 2, &(struct iovec){.iov_base = memory, .iov_len = BYTES}, 1);
    assert_true(is_quiet(fixture->io));
    io_shutdown(fixture->io, pair[0], SHUT_RDWR);
    uint64_t tokens = 0;
    for (int i = 0; i < 2; i++) {
        struct io_event event = wait_event(fixture->io);
        assert_true(event.result < BYTES);
        assert_false(event.more);
        tokens += event.token;
    }
    assert_int_equal(tokens, 3);
    io_close_socket(fixture->io, pair[0]);
    close(pair[1]);
    test_free(memory);
}

static void no_descriptor_left_ends_the_accept(void **state) {
    struct fixture *fixture = *state;
    struct listener listener = listen_on("tcp://127.0.0.1:0");
    int dialled = listener_dial(&listener.address);
    struct rlimit before, none;
    getrlimit(RLIMIT_NOFILE, &before);
    none = before;
    none.rlim_cur = (rlim_t)dialled;
    setrlimit(RLIMIT_NOFILE, &none);
    io_accept(fixture->io, listener.socket, 1);
    struct io_event event = wait_event(fixture->io);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(event.result, -EMFILE);
    assert_false(event.more);
    io_accept(fixture->io, listener.socket, 1);
    event = wait_event(fixture->io);
    assert_true(event.result >= 0 && event.more);
    io_close_socket(fixture->io, event.result);
    io_cancel(fixture->io, listener.socket, 1);
    expect_end(fixture->io, 1, -ECANCELED);
    close(dialled);
    listener_close(&listener);
}

// Operations that complete while events are being handled wait for the next io_run.
static void handlers_cant_keep_the_loop_from_running(void **state) {
    struct fixture *fixture = *state;
    struct io_event event;
    char byte;
    int pair[2];
    unix_pair(pair);
    close(pair[1]);
    io_receive_into(fixture->io, pair[0], 0, &byte, 1);
    for (int round = 0; round < 10; round++) {
        int events = 0;
        io_run(fixture->io, io_now(fixture->io) + PATIENCE_NS);
        while (io_next(fixture->io, &event)) {
            assert_int_equal(event.result, 0);
            events++;
            io_receive_into(fixture->io, pair[0], 0, &byte, 1);
        }
        assert_int_equal(events, 1);
    }
    expect_end(fixture->io, 0, 0);
    io_close_socket(fixture->io, pair[0]);
}

static void open_without_memory(void **state) {
    (void)state;
    struct fixture fixture = {.budget.bytes_max = 1 << 20};
    buffer_pool_init(&fixture.pool, &fixture.budget);
    struct io_options options = {.pool = &fixture.pool, .buffers_provided = LENT, .backend = backend};
    uint64_t allocations = 0;
    for (;; allocations++) {
        const char *why = NULL;
        memory_fail_after(allocations);
        int result = io_open(&fixture.io, &options, &why);
        memory_fail_after(UINT64_MAX);
        if (result == 0)
            break;
        assert_int_equal(result, -ENOMEM);
        assert_non_null(why);
        assert_true(buffer_pool_full(&fixture.pool));
    }
    assert_true(allocations >= 2);
    io_close(fixture.io);
    buffer_pool_deinit(&fixture.pool);
}

static int refuse_syscall(unsigned number) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

// Runs io_open in a child that may not use `number`; gives the exit status: 0 if it was refused with a
// reason.
static int open_refused(unsigned number) {
    pid_t child = fork();
    if (child == 0) {
        struct fixture fixture = {.budget.bytes_max = 1 << 20};
        buffer_pool_init(&fixture.pool, &fixture.budget);
        struct io_options options = {.pool = &fixture.pool, .buffers_provided = LENT, .backend = backend};
        const char *why = NULL;
        if (refuse_syscall(number) < 0)
            _exit(2);
        _exit(io_open(&fixture.io, &options, &why) < 0 && why ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_refusal_has_a_reason(void **state) {
    (void)state;
    static const unsigned uring[] = {SYS_io_uring_setup, SYS_io_uring_register, 0};
    static const unsigned epoll[] = {SYS_epoll_create1, SYS_eventfd2, SYS_epoll_ctl, 0};
    for (const unsigned *number = backend == IO_EPOLL ? epoll : uring; *number; number++)
        assert_int_equal(open_refused(*number), 0);
}

int main(int argc, char **argv) {
    choose_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_buffer_left_and_back_again),
        cmocka_unit_test_setup_teardown(cancel_ends_each_kind, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cancel_ends_nothing_else, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reset_is_an_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shutdown_comes_between_send_and_close, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shutdown_ends_what_is_under_way, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_descriptor_left_ends_the_accept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(handlers_cant_keep_the_loop_from_running, set_up, tear_down),
        cmocka_unit_test(open_without_memory),
        cmocka_unit_test(a_refusal_has_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
