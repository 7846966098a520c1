// Set-up of a shard's ring, and the kernel entries.
//
// Success: the ring is for one thread, which also runs the kernel's deferred work when it asks for completions
// (SINGLE_ISSUER, DEFER_TASKRUN: Linux 6.1). The ring's descriptor is registered. Each turn of the shard's loop is one
// io_uring_enter that submits, runs deferred work and waits.
//
// Failure: set-up returns -errno and a reason if the kernel refuses io_uring or lacks a feature. Later a kernel entry
// fails only for a moment (interrupted, timed out, out of memory). Any other failure is a bug of the hub or a
// completion that the kernel has lost. It ends the program, since a connection would wait for that completion for ever.
#include "io/uring_ring.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/limits.h"
#include "core/base/memory.h"
#include "io/log.h"
#include "io/sandbox_layer.h"
#include "io/uring_restrict.h"

// Slots of the submission queue. Few, so that the slots stay in the cache: a full queue costs one more kernel entry for
// this many operations.
enum { SUBMISSIONS = 512 };

// Completions that end a held wait early, besides completions that the submitted operations have at once.
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

// Makes slot i of the queue submission i for good, so that submitting only publishes the tail.
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
    // A registered descriptor saves a look-up at each entry. If the table is full, the plain descriptor is used.
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
        params.flags |= IORING_SETUP_R_DISABLED; // until it is restricted
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

// Submits and enters the kernel. liburing's own calls with a timeout would enter twice, and wait twice as long, when
// they have submitted operations and then time out.
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

// Without IORING_FEAT_MIN_TIMEOUT the held part is a wait of its own: the caller calls again for the rest.
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

// --- Provided buffers
//
// The provided buffer ring of a shard.
//
// Success: uring_buffers_fill assigns a buffer to every free id. A receive completes with the id of the buffer that it
// filled. uring_buffers_return hands that buffer out and frees its id for the next uring_buffers_fill.
//
// Single buffers can't be taken back: the kernel alone knows which ones it has used. The ring is therefore unregistered
// and registered again. The kernel uses no buffer meanwhile: it works on this ring only when this thread enters, and
// earlier uses have completed. Receives under way look the ring up at their next arrival.
//
// The kernel takes buffers from the front, and returned buffers are put there. Returned buffers are still in the cache,
// even if arrivals are as large as buffers and a turn fills a few. Later buffers are for turns that fill more.
//
// Failure: when the pool has reached its bound, ids stay free, and receives without a buffer end with -ENOBUFS.

static size_t ring_bytes(const struct uring_buffers *buffers) {
    return buffers->count * sizeof(struct io_uring_buf);
}

static void release_provided(struct uring_buffers *buffers) {
    if (buffers->ring)
        munmap(buffers->ring, ring_bytes(buffers));
    memory_give(buffers->provided);
    memory_give(buffers->free_ids);
}

// Maps the ring's memory: whole pages, which the kernel pins.
static struct io_uring_buf_ring *map_ring(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

// Registers the ring with the kernel.
static int list_ring(struct uring_buffers *buffers, struct io_uring *uring) {
    struct io_uring_buf_reg registration = {
        .ring_addr = (uintptr_t)buffers->ring, .ring_entries = buffers->count, .bgid = URING_BUFFERS_GROUP};
    return io_uring_register_buf_ring(uring, &registration, 0);
}

int uring_buffers_open(struct uring_buffers *buffers, struct io_uring *uring, struct buffer_pool *pool,
                       uint32_t count, const char **why) {
    assert(count > 0 && count <= 32768 && (count & (count - 1)) == 0);
    *buffers = (struct uring_buffers){.pool = pool, .free_count = count, .count = count, .max = count};
    buffers->ring = map_ring(ring_bytes(buffers));
    buffers->provided = memory_take_zeroed(count, sizeof(struct buffer *));
    buffers->free_ids = memory_take_zeroed(count, sizeof *buffers->free_ids);
    if (!buffers->ring || !buffers->provided || !buffers->free_ids) {
        *why = "out of memory";
        release_provided(buffers);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++)
        buffers->free_ids[i] = (uint16_t)i;
    int result = list_ring(buffers, uring);
    if (result < 0) {
        *why = "the kernel refused io_uring's ring of provided buffers";
        release_provided(buffers);
    }
    return result < 0 ? result : 0;
}

void uring_buffers_close(struct uring_buffers *buffers, struct io_uring *uring) {
    io_uring_unregister_buf_ring(uring, URING_BUFFERS_GROUP);
    for (uint32_t id = 0; id < buffers->count; id++)
        buffer_drop(buffers->provided[id]);
    release_provided(buffers);
}

static void show(struct uring_buffers *buffers, uint32_t id, int at) {
    io_uring_buf_ring_add(buffers->ring, buffer_arrival(buffers->provided[id]), ARRIVAL_BYTES_MAX,
                          (uint16_t)id, io_uring_buf_ring_mask(buffers->count), at);
}

static void free_id(struct uring_buffers *buffers, uint32_t id) {
    buffers->provided[id] = NULL;
    buffers->free_ids[buffers->free_count++] = (uint16_t)id;
}

// Returns whether an unread completion has this buffer.
static bool is_used(const struct ring *ring, uint32_t id) {
    const struct io_uring_cq *cq = &ring->uring.cq;
    for (unsigned at = *cq->khead, tail = ring_tail(ring); at != tail; at++) {
        uint32_t flags = cq->cqes[at & cq->ring_mask].flags;
        if (flags & IORING_CQE_F_BUFFER && flags >> IORING_CQE_BUFFER_SHIFT == id)
            return true;
    }
    return false;
}

// Drops the buffers beyond `max`, and puts the others into a ring that the kernel doesn't know.
static void sort_out(struct uring_buffers *buffers, const struct ring *ring) {
    int shown = 0;
    for (uint32_t id = 0; id < buffers->count; id++) {
        if (!buffers->provided[id] || is_used(ring, id))
            continue;
        if ((uint32_t)shown < buffers->max) {
            show(buffers, id, shown++);
            continue;
        }
        buffer_drop(buffers->provided[id]);
        free_id(buffers, id);
    }
    io_uring_buf_ring_advance(buffers->ring, shown);
}

// Takes buffers beyond `max` back. Does nothing while completions overflow, since these may have buffers:
// uring_buffers_fill tries again.
static void take_back_provided(struct uring_buffers *buffers, struct ring *ring) {
    struct io_uring *uring = &ring->uring;
    if (IO_URING_READ_ONCE(*uring->sq.kflags) & IORING_SQ_CQ_OVERFLOW)
        return;
    if (!buffers->unlisted && io_uring_unregister_buf_ring(uring, URING_BUFFERS_GROUP) < 0)
        return;
    io_uring_buf_ring_init(buffers->ring);
    sort_out(buffers, ring);
    buffers->unlisted = list_ring(buffers, uring) < 0;
}

// Counts the lent buffers that unread completions have.
static uint32_t count_used(const struct ring *ring) {
    const struct io_uring_cq *cq = &ring->uring.cq;
    uint32_t used = 0;
    for (unsigned at = *cq->khead, tail = ring_tail(ring); at != tail; at++)
        used += (cq->cqes[at & cq->ring_mask].flags & IORING_CQE_F_BUFFER) != 0;
    return used;
}

// Returns an entry of the ring, counted from the tail on. The tail itself is stored in the first entry.
static struct io_uring_buf *place(const struct uring_buffers *buffers, int at) {
    return &buffers->ring->bufs[(buffers->ring->tail + at) & io_uring_buf_ring_mask(buffers->count)];
}

// Moves the `added` entries at the tail, which the kernel doesn't know yet, to the front in the same order. The entries
// at the front go to the tail. The kernel reads them only when it is entered. Does nothing while completions overflow:
// the number of entries left isn't known then.
static void put_in_front(const struct uring_buffers *buffers, const struct ring *ring, int added) {
    uint32_t used = count_used(ring), shown = uring_buffers_left(buffers) - (uint32_t)added;
    if (IO_URING_READ_ONCE(*ring->uring.sq.kflags) & IORING_SQ_CQ_OVERFLOW)
        return;
    assert(used <= shown);
    int left = (int)(shown - used), count = left < added ? left : added;
    for (int at = 0; at < count; at++) {
        struct io_uring_buf *front = place(buffers, at - left), *end = place(buffers, at);
        struct io_uring_buf fresh = {.addr = end->addr, .bid = end->bid};
        end->addr = front->addr;
        end->bid = front->bid;
        front->addr = fresh.addr;
        front->bid = fresh.bid;
    }
}

void uring_buffers_fill(struct uring_buffers *buffers, struct ring *ring) {
    int added = 0;
    if (buffers->unlisted || uring_buffers_left(buffers) > buffers->max)
        take_back_provided(buffers, ring);
    while (uring_buffers_left(buffers) < buffers->max) {
        struct buffer *buffer = buffer_take(buffers->pool);
        if (!buffer)
            break;
        uint16_t id = buffers->free_ids[--buffers->free_count];
        buffers->provided[id] = buffer;
        show(buffers, id, added++);
    }
    if (added == 0)
        return;
    put_in_front(buffers, ring, added);
    io_uring_buf_ring_advance(buffers->ring, added);
}

void uring_buffers_limit(struct uring_buffers *buffers, struct ring *ring, uint32_t max) {
    buffers->max = max < buffers->count ? max : buffers->count;
    if (uring_buffers_left(buffers) > buffers->max)
        take_back_provided(buffers, ring);
}

struct buffer *uring_buffers_return(struct uring_buffers *buffers, uint32_t id) {
    assert(id < buffers->count && buffers->provided[id]);
    struct buffer *buffer = buffers->provided[id];
    free_id(buffers, id);
    return buffer;
}
