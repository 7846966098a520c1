// Set-up of a shard's ring, and the entries into the kernel.
//
// Success: the ring is made for one thread that also runs the kernel's deferred work when it asks for
// completions (SINGLE_ISSUER, DEFER_TASKRUN: Linux 6.1). Its descriptor is registered. Each turn of the
// shard's loop is one io_uring_enter that submits, runs deferred work and waits.
//
// Failure: set-up fails with -errno and a reason, when the kernel refuses io_uring or lacks what the hub
// needs. Later a kernel entry fails only in passing (interrupted, timed out, short of memory for a moment).
// Any other failure is a bug of ours or a completion lost in the kernel. It ends the program, since a
// connection would hang on it for ever.
#include "io/uring_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/base/memory.h"
#include "io/log.h"
#include "io/sandbox_layer.h"
#include "io/uring_restrict.h"

// Small, so that the slots stay in the cache: a full queue costs one more kernel entry for this many
// operations.
enum { SUBMISSIONS = 512 };

// Completions that end a held wait, besides those that the operations handed over with it make at once.
enum { HOLD_COMPLETIONS = 16 };

static const unsigned FEATURES = IORING_FEAT_NODROP | IORING_FEAT_SUBMIT_STABLE | IORING_FEAT_FAST_POLL |
                                 IORING_FEAT_EXT_ARG | IORING_FEAT_CQE_SKIP;

static const unsigned char OPERATIONS[] = {
    IORING_OP_ACCEPT, IORING_OP_RECV,         IORING_OP_SEND,     IORING_OP_SENDMSG,
    IORING_OP_CLOSE,  IORING_OP_ASYNC_CANCEL, IORING_OP_MSG_RING, IORING_OP_POLL_ADD,
    IORING_OP_WRITEV, IORING_OP_FSYNC,        IORING_OP_CONNECT,
};

static const char *refusal(int result) {
    switch (result) {
    case -ENOSYS:
    case -EPERM:
        return "io_uring_setup was refused (is io_uring disabled by sysctl or seccomp?)";
    case -EINVAL:
        return "io_uring_setup was refused (the kernel is older than Linux 6.1)";
    case -EMFILE:
    case -ENFILE:
        return "io_uring_setup was refused (no file descriptor is left)";
    default:
        return "io_uring_setup was refused (out of memory, or of what may be locked: ulimit -l?)";
    }
}

static bool operations_known(struct io_uring *uring) {
    struct io_uring_probe *probe = io_uring_get_probe_ring(uring);
    bool known = probe != NULL;
    for (size_t i = 0; known && i < sizeof OPERATIONS; i++)
        known = io_uring_opcode_supported(probe, OPERATIONS[i]);
    io_uring_free_probe(probe);
    return known;
}

// Slot i of the queue is always submission i, so handing over is no more than publishing the tail.
static void index_slots(struct io_uring_sq *sq) {
    for (unsigned i = 0; i < sq->ring_entries; i++)
        sq->array[i] = i;
}

static int prepare(struct ring *ring, unsigned features, const char **why) {
    struct io_uring *uring = &ring->uring;
    if ((features & FEATURES) != FEATURES || !operations_known(uring)) {
        *why = "the kernel's io_uring lacks an operation that the hub needs";
        return -EOPNOTSUPP;
    }
    ring->messages = memory_take_zeroed(uring->sq.ring_entries, sizeof *ring->messages);
    if (!ring->messages) {
        *why = "out of memory";
        return -ENOMEM;
    }
    index_slots(&uring->sq);
    ring->min_wait = features & RING_FEATURE_MIN_WAIT;
    // Saves the look-up of the descriptor at each entry; its table may be full, and then the plain one does.
    if (io_uring_register_ring_fd(uring) == 1)
        ring->enter_flags = IORING_ENTER_REGISTERED_RING;
    return 0;
}

static int wall_in(struct ring *ring, const char **why) {
    int result = uring_restrict(&ring->uring, OPERATIONS, sizeof OPERATIONS);
    ring->restricted = result > 0;
    if (result < 0)
        *why = "the kernel's io_uring can't enable a ring";
    return result < 0 ? result : 0;
}

int ring_open(struct ring *ring, bool restricted, const char **why) {
    *ring = (struct ring){0};
    struct io_uring_params params = {
        .cq_entries = COMPLETIONS_MAX,
        .flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP | IORING_SETUP_SUBMIT_ALL |
                 IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
    };
    if (restricted)
        params.flags |= IORING_SETUP_R_DISABLED; // until it is walled in
    int result = io_uring_queue_init_params(SUBMISSIONS, &ring->uring, &params);
    if (result < 0) {
        *why = refusal(result);
        return result;
    }
    result = prepare(ring, params.features, why);
    if (result == 0 && restricted)
        result = wall_in(ring, why);
    if (result < 0)
        ring_close(ring);
    return result;
}

void ring_close(struct ring *ring) {
    io_uring_queue_exit(&ring->uring);
    memory_give(ring->messages);
    ring->messages = NULL;
}

static void check(int result) {
    if (result >= 0 || result == -EINTR || result == -ETIME || result == -EAGAIN || result == -EBUSY)
        return;
    log_write(LOG_FAILED, LOG_NO_FIELDS, "io_uring_enter: %s", strerror(-result));
    abort();
}

// liburing's own calls with a timeout enter twice when they have submitted something and then time out, and
// wait twice as long; so this publishes and enters by hand.
static void enter(struct ring *ring, unsigned wait_count, unsigned flags, struct ring_wait_argument *arg) {
    struct io_uring_sq *sq = &ring->uring.sq;
    sq->sqe_head = sq->sqe_tail;
    io_uring_smp_store_release(sq->ktail, sq->sqe_tail);
    ring->entries++;
    check(io_uring_enter2((unsigned)ring->uring.enter_ring_fd, io_uring_sq_ready(&ring->uring), wait_count,
                          flags | ring->enter_flags, (sigset_t *)arg, arg ? sizeof *arg : 0));
}

void ring_submit(struct ring *ring) {
    while (io_uring_sq_ready(&ring->uring))
        enter(ring, 0, 0, NULL);
}

// Where the kernel holds no wait itself, the held part is a wait of its own: the caller comes again for the rest.
void ring_enter(struct ring *ring, uint64_t wait_ns, uint64_t hold_ns) {
    assert(hold_ns <= wait_ns);
    if (hold_ns && !ring->min_wait)
        wait_ns = hold_ns;
    struct __kernel_timespec span = {
        .tv_sec = (long long)(wait_ns / 1000000000),
        .tv_nsec = (long long)(wait_ns % 1000000000),
    };
    struct ring_wait_argument arg = {
        .min_wait_us = ring->min_wait ? (uint32_t)(hold_ns / 1000) : 0,
        .timeout = wait_ns == UINT64_MAX ? 0 : (uintptr_t)&span,
    };
    unsigned many = io_uring_sq_ready(&ring->uring) + HOLD_COMPLETIONS;
    enter(ring, hold_ns ? many : wait_ns ? 1 : 0, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &arg);
}

void ring_look(struct ring *ring) {
    ring->entries++;
    check(io_uring_enter2((unsigned)ring->uring.enter_ring_fd, 0, 0,
                          IORING_ENTER_GETEVENTS | ring->enter_flags, NULL, 0));
}

struct io_uring_sqe *ring_note(struct ring *ring) {
    struct io_uring_sqe *sqe = io_uring_get_sqe(&ring->uring);
    if (!sqe) {
        ring_submit(ring);
        sqe = io_uring_get_sqe(&ring->uring);
    }
    return sqe;
}

bool sandbox_ring_holds(void) {
    struct ring ring;
    const char *why;
    if (ring_open(&ring, true, &why) < 0)
        return false;
    struct io_uring_cqe *completion = NULL;
    io_uring_prep_nop(ring_note(&ring));
    ring_enter(&ring, 0, 0);
    bool refused = io_uring_peek_cqe(&ring.uring, &completion) == 0 && completion->res == -EACCES;
    ring_close(&ring);
    return refused;
}
