// io/epoll*.c where it does more than the seam asks for, or does it in its own way.
#include "tests/io/fixture.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

// Two peers that never stop: neither waits for the other, and a turn ends all the same.
static void a_flood_leaves_room_for_others(void **state) {
    struct io *io = ((struct fixture *)*state)->io;
    static char flood[128 * 1024];
    int pairs[2][2];
    size_t arrived[2] = {0, 0};
    bool armed[2] = {false, false};
    for (int i = 0; i < 2; i++)
        unix_pair(pairs[i]);
    for (int turn = 0; turn < 200; turn++) {
        for (int i = 0; i < 2; i++) {
            send(pairs[i][1], flood, sizeof flood, MSG_DONTWAIT);
            if (!armed[i])
                io_receive(io, pairs[i][0], (uint64_t)i, 0);
            armed[i] = true;
        }
        io_run(io, io_now(io) + SECOND_NS);
        int arrivals = 0;
        for (struct io_event event; io_next(io, &event); arrivals++) {
            if (event.result > 0)
                arrived[event.token] += (size_t)event.result;
            armed[event.token] = event.more;
            buffer_drop(event.buffer);
        }
        assert_true(arrivals <= LENT);
    }
    assert_true(arrived[0] > 200 * 1024 && arrived[1] > 200 * 1024);
    for (int i = 0; i < 2; i++) {
        if (armed[i])
            io_cancel(io, pairs[i][0], (uint64_t)i);
        while (armed[i]) {
            struct io_event event = wait_event(io);
            armed[event.token] = event.more;
            buffer_drop(event.buffer);
        }
        close(pairs[i][1]);
        io_close_socket(io, pairs[i][0]);
    }
}

// Every thread that would be started from now on is refused.
static int refuse_threads(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

// Has a process write and sync a file once, and returns the exit status of that process.
static int write_and_sync(const char *path) {
    struct fixture *fixture = fixture_open(LENT);
    struct io_file file;
    struct iovec vector = {.iov_base = (char[]){"line\n"}, .iov_len = 5};
    if (refuse_threads() < 0 || io_file_open(fixture->io, path, &file) < 0)
        return 2;
    io_file_write(fixture->io, &file, 1, &vector, 1);
    struct io_event event = wait_event(fixture->io);
    if (event.kind != IO_WRITTEN || event.result != 5)
        return 3;
    io_file_sync(fixture->io, &file, 2);
    event = wait_event(fixture->io);
    if (event.kind != IO_SYNCED || event.result != 0)
        return 4;
    io_file_close(fixture->io, &file);
    fixture_close(fixture);
    return 0;
}

static void a_file_without_a_thread_for_it(void **state) {
    (void)state;
    char path[] = "/tmp/patchbay-epoll-XXXXXX";
    int made = mkstemp(path);
    assert_true(made >= 0);
    close(made);
    pid_t child = fork();
    if (child == 0)
        _exit(write_and_sync(path));
    int status;
    waitpid(child, &status, 0);
    unlink(path);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void) {
    backend = IO_EPOLL;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_flood_leaves_room_for_others, set_up, tear_down),
        cmocka_unit_test(a_file_without_a_thread_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
