// The load's connections as plain programs have theirs: one after the other as epoll tells of them, with one
// read of each and then one write. A server gets messages as many clients would send them, and not in batches
// over all of them. Beside it stands the hub's own seam (io/io.h), whose events these are.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "core/base/buffer.h"
#include "io/io.h"

struct trickle;

// NULL: the kernel refused, or there is no memory.
struct trickle *trickle_open(struct buffer_pool *pool);
void trickle_close(struct trickle *trickle);
// Tells of this socket from now on, under this token, until it is closed. 0 or -errno.
int trickle_watch(struct trickle *trickle, int socket, uint64_t token);
// Writes once what there is room for: the count of bytes, or -errno. At -EAGAIN the socket's next event is IO_SENT with
// that result as soon as there is room again.
ssize_t trickle_write(struct trickle *trickle, int socket, uint64_t token, const struct iovec *bytes);
// Waits until a socket is ready, or the clock (load_now_ns) reaches until_ns.
void trickle_run(struct trickle *trickle, uint64_t until_ns);
// Reads the next one that is; false when there is none. Call until false before the next trickle_run.
bool trickle_next(struct trickle *trickle, struct io_event *event);
