#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/backend.h"
#include "io/io.h"

// The seam with a real kernel: each verb calls the backend that the io was opened with.
//
// Success and failure are the backend's. This file adds the choice of a backend, and the probing of a watched peer.

static const struct io_ops *const backends[] = {
    [IO_URING] = &uring_ops,
    [IO_EPOLL] = &epoll_ops,
};

int io_open(struct io **out, const struct io_options *options, const char **why) {
    return backends[options->backend]->open(out, options, why);
}

void io_close(struct io *io) {
    io->ops->close(io);
}

int io_try(enum io_backend backend, const char **why) {
    struct buffer_budget budget = {.bytes_max = UINT64_MAX};
    struct buffer_pool pool;
    struct io *io;
    buffer_pool_init(&pool, &budget);
    struct io_options options = {.pool = &pool, .buffers_provided = 1, .backend = backend};
    int result = io_open(&io, &options, why);
    if (result == 0)
        io_close(io);
    buffer_pool_deinit(&pool);
    return result;
}

bool io_is_restricted(const struct io *io) {
    return !io->ops->restricted || io->ops->restricted(io);
}

const char *io_name(const struct io *io) {
    return io->ops->name;
}

uint64_t io_now(const struct io *io) {
    return io->now_ns;
}

uint64_t io_clock(const struct io *io) {
    (void)io; // all backends use the same clock
    return io_clock_ns();
}

uint64_t io_cpu_ns(const struct io *io) {
    (void)io;
    return io_used_ns();
}

uint64_t io_wall_ns(const struct io *io) {
    struct timespec now;
    (void)io; // all backends use the same clock
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec < 0 ? 0 : (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t io_entries(const struct io *io) {
    return io->ops->entries(io);
}

uint64_t io_held_waits(const struct io *io) {
    return io->ops->held ? io->ops->held(io) : 0;
}

void io_provide_buffers(struct io *io, uint32_t buffers) {
    assert(buffers > 0);
    io->ops->provide_buffers(io, buffers);
}

void io_accept(struct io *io, int socket, uint64_t token) {
    io->ops->accept(io, socket, token);
}

// Makes a TCP socket for a client. A connect that is given up may have to wait until the kernel's attempts have failed.
// The kernel therefore tries only twice, for 3 s in all.
static int open_socket(int family) {
    int fresh = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, again = 1;
    if (fresh < 0)
        return -errno;
    (void)setsockopt(fresh, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fresh, IPPROTO_TCP, TCP_SYNCNT, &again, sizeof again);
    return fresh;
}

int io_connect(struct io *io, const struct sockaddr *address, uint32_t bytes, uint64_t token) {
    assert(address->sa_family == AF_INET || address->sa_family == AF_INET6);
    int fresh = open_socket(address->sa_family);
    int failed = fresh < 0 ? fresh : io->ops->connect(io, fresh, address, bytes, token);
    if (failed < 0 && fresh >= 0)
        close(fresh);
    return failed < 0 ? failed : fresh;
}

void io_receive(struct io *io, int socket, uint64_t token, uint32_t most) {
    assert(most <= ARRIVAL_BYTES_MAX);
    io->ops->receive(io, socket, token, most);
}

void io_receive_into(struct io *io, int socket, uint64_t token, void *memory, size_t bytes) {
    assert(bytes > 0);
    io->ops->receive_into(io, socket, token, memory, bytes);
}

void io_send(struct io *io, int socket, uint64_t token, const struct iovec *vectors, unsigned count) {
    assert(count > 0 && count <= IO_VECTORS_MAX);
    io->ops->send(io, socket, token, vectors, count);
}

// Sends bytes at once. The socket may refuse some: these are lost.
void io_send_now(struct io *io, int socket, const void *bytes, size_t count) {
    (void)io;
    (void)!send(socket, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void io_cancel(struct io *io, int socket, uint64_t token) {
    io->ops->cancel(io, socket, token);
}

// Makes the kernel probe a silent TCP peer. A Unix socket refuses these options and needs none.
static void probe(int socket) {
    int on = 1, seconds = PROBE_S;
    if (setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds) == 0 &&
        setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds) == 0)
        (void)setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

void io_watch(struct io *io, int socket, uint64_t token) {
    probe(socket);
    io->ops->watch(io, socket, token);
}

void io_unwatch(struct io *io, int socket, uint64_t token) {
    io->ops->unwatch(io, socket, token);
}

void io_shutdown(struct io *io, int socket, int how) {
    io->ops->shutdown(io, socket, how);
}

void io_close_socket(struct io *io, int socket) {
    io->ops->close_socket(io, socket);
}

int io_signals(struct io *io, uint64_t token) {
    return io->ops->signals(io, token);
}

void io_file_write(struct io *io, const struct io_file *file, uint64_t token, const struct iovec *vectors,
                   unsigned count) {
    assert(count > 0 && count <= IO_VECTORS_MAX);
    io->ops->file_write(io, file, token, vectors, count);
}

void io_file_sync(struct io *io, const struct io_file *file, uint64_t token) {
    io->ops->file_sync(io, file, token);
}

void io_wake(struct io *io, struct io *other) {
    assert(io != other && io->ops == other->ops);
    io->ops->wake(io, other);
}

void io_run(struct io *io, uint64_t deadline_ns) {
    io->ops->run(io, deadline_ns);
}

bool io_next(struct io *io, struct io_event *event) {
    return io->ops->next(io, event);
}

bool io_has_arrivals(struct io *io) {
    return io->ops->has_arrivals && io->ops->has_arrivals(io);
}

void io_poll(struct io *io) {
    assert(io->ops->poll);
    io->ops->poll(io);
}

// --- Programs

// Programs with a real kernel: the keeper (keeper.h) starts them.

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
    // Each pair carries one direction alone.
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
