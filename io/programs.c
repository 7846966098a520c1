// Programs that the hub starts, where there is a real kernel: the keeper (keeper.h) does it.
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/io.h"

void io_kill_group(struct io *io, int group) {
    (void)io;
    assert(group > 1);
    kill(-group, SIGKILL);
}

int io_tell_keeper(struct io *io, int keeper, const void *command, size_t bytes) {
    (void)io;
    assert(bytes > 0);
    return send(keeper, command, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int hand_over(int keeper, const void *command, size_t bytes, const int ends[2]) {
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {0};
    struct iovec vector = {(void *)(uintptr_t)command, bytes};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(2 * sizeof(int));
    memcpy(CMSG_DATA(head), ends, 2 * sizeof(int));
    return sendmsg(keeper, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int io_start(struct io *io, int keeper, const void *command, size_t bytes, int *in, int *out) {
    int ins[2], outs[2];
    (void)io;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ins) < 0)
        return -errno;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, outs) < 0) {
        int failed = -errno;
        close(ins[0]);
        close(ins[1]);
        return failed;
    }
    // Each carries one direction alone.
    shutdown(ins[0], SHUT_RD);
    shutdown(outs[0], SHUT_WR);
    int result = hand_over(keeper, command, bytes, (int[2]){ins[1], outs[1]});
    close(ins[1]);
    close(outs[1]);
    if (result == 0) {
        *in = ins[0];
        *out = outs[0];
        return 0;
    }
    close(ins[0]);
    close(outs[0]);
    return result;
}
