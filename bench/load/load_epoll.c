// See load_epoll.h. Success: each socket that is ready is read when it is asked for, after what the one before
// brought about was written. Failure: an error of a read is its event's result, and the socket isn't told of again.
#include "bench/load/load_epoll.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { READY_MAX = 256 };

struct trickle {
    int epoll;
    int count, at; // of what is ready
    struct epoll_event ready[READY_MAX];
    struct buffer_pool *pool;
};

// The token and the socket in one number.
static uint64_t tag(int socket, uint64_t token) {
    return token << 32 | (uint32_t)socket;
}

static int change(const struct trickle *trickle, int how, uint32_t what, uint64_t tagged) {
    struct epoll_event event = {.events = what, .data.u64 = tagged};
    return epoll_ctl(trickle->epoll, how, (int)(uint32_t)tagged, &event) < 0 ? -errno : 0;
}

struct trickle *trickle_open(struct buffer_pool *pool) {
    struct trickle *trickle = calloc(1, sizeof *trickle);
    if (trickle == NULL) {
        return NULL;
    }
    trickle->pool = pool;
    trickle->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (trickle->epoll < 0) {
        free(trickle);
        return NULL;
    }
    return trickle;
}

void trickle_close(struct trickle *trickle) {
    if (trickle != NULL) {
        close(trickle->epoll);
        free(trickle);
    }
}

int trickle_watch(struct trickle *trickle, int socket, uint64_t token) {
    return change(trickle, EPOLL_CTL_ADD, EPOLLIN, tag(socket, token));
}

ssize_t trickle_write(struct trickle *trickle, int socket, uint64_t token, const struct iovec *bytes) {
    ssize_t sent = send(socket, bytes->iov_base, bytes->iov_len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0 || errno != EAGAIN) {
        return sent < 0 ? -errno : sent;
    }
    int error = change(trickle, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT, tag(socket, token));
    return error < 0 ? error : -EAGAIN;
}

void trickle_run(struct trickle *trickle, uint64_t until_ns) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
    uint64_t wait_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    struct timespec wait = {.tv_sec = (time_t)(wait_ns / 1000000000U),
                            .tv_nsec = (long)(wait_ns % 1000000000U)};
    trickle->at = 0;
    trickle->count = epoll_pwait2(trickle->epoll, trickle->ready, READY_MAX, &wait, NULL);
}

static bool read_once(struct trickle *trickle, uint64_t tagged, struct io_event *event) {
    struct buffer *buffer = buffer_take(trickle->pool);
    ssize_t count = -1;
    int error = ENOMEM;
    if (buffer != NULL) {
        count = recv((int)(uint32_t)tagged, buffer_arrival(buffer), ARRIVAL_BYTES_MAX, MSG_DONTWAIT);
        error = errno;
    }
    if (count <= 0) {
        buffer_drop(buffer);
        buffer = NULL;
        if (count < 0 && (error == EAGAIN || error == EINTR)) {
            return false;
        }
        change(trickle, EPOLL_CTL_DEL, 0, tagged);
    }
    *event = (struct io_event){.kind = IO_RECEIVED,
                               .more = count > 0,
                               .result = (int32_t)(count < 0 ? -error : count),
                               .token = tagged >> 32,
                               .buffer = buffer};
    return true;
}

bool trickle_next(struct trickle *trickle, struct io_event *event) {
    while (trickle->at < trickle->count) {
        struct epoll_event *ready = &trickle->ready[trickle->at];
        if (ready->events & EPOLLOUT) { // and what came is read after it
            ready->events &= ~(uint32_t)EPOLLOUT;
            change(trickle, EPOLL_CTL_MOD, EPOLLIN, ready->data.u64);
            *event = (struct io_event){.kind = IO_SENT, .result = -EAGAIN, .token = ready->data.u64 >> 32};
            return true;
        }
        trickle->at++;
        if (ready->events != 0 && read_once(trickle, ready->data.u64, event)) {
            return true;
        }
    }
    return false;
}
