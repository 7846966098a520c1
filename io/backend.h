// The verbs of io/io.h with a real kernel: one table of functions for each backend. Only io/*.c may include this
// header.
//
// A verb costs a call through a pointer. A turn calls a few verbs, and a frame costs less than one verb.
#pragma once

#include <time.h>

#include "io/io.h"

struct io_ops {
    const char *name;
    int (*open)(struct io **out, const struct io_options *options, const char **why);
    void (*close)(struct io *io);
    void (*provide_buffers)(struct io *io, uint32_t buffers);
    void (*accept)(struct io *io, int socket, uint64_t token);
    int (*connect)(struct io *io, int socket, const struct sockaddr *address, uint32_t bytes,
                   uint64_t token); // 0; or -errno, and no operation has begun
    void (*receive)(struct io *io, int socket, uint64_t token, uint32_t most);
    void (*receive_into)(struct io *io, int socket, uint64_t token, void *memory, size_t bytes);
    void (*send)(struct io *io, int socket, uint64_t token, const struct iovec *vectors, unsigned count);
    void (*cancel)(struct io *io, int socket, uint64_t token);
    void (*watch)(struct io *io, int socket, uint64_t token);
    void (*unwatch)(struct io *io, int socket, uint64_t token);
    void (*shutdown)(struct io *io, int socket, int how);
    void (*close_socket)(struct io *io, int socket);
    void (*file_write)(struct io *io, const struct io_file *file, uint64_t token, const struct iovec *vectors,
                       unsigned count);
    void (*file_sync)(struct io *io, const struct io_file *file, uint64_t token);
    int (*signals)(struct io *io, uint64_t token);
    void (*wake)(struct io *io, struct io *other);
    void (*run)(struct io *io, uint64_t deadline_ns);
    bool (*next)(struct io *io, struct io_event *event);
    bool (*has_arrivals)(const struct io *io); // NULL: never
    void (*poll)(struct io *io);               // NULL if has_arrivals is NULL
    uint64_t (*entries)(const struct io *io);
    uint64_t (*held)(const struct io *io);   // NULL: no wait is ever held
    bool (*restricted)(const struct io *io); // NULL: the backend has no ring
};

// The head of each backend's own struct.
struct io {
    const struct io_ops *ops;
    uint64_t now_ns;
};

extern const struct io_ops uring_ops;
extern const struct io_ops epoll_ops;

static inline uint64_t io_clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// Returns the processor time that the calling thread has used, in ns; 0 if the kernel doesn't tell.
static inline uint64_t io_used_ns(void) {
    struct timespec used;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) < 0)
        return 0;
    return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}
