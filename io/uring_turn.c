// A turn of an io_uring io: noted operations go to the kernel in one entry, and completions become events
// straight from the completion ring.
//
// Success: there is an event, a wake, or the time has come. Failure: completions that found no room stay with
// the kernel and come at the next io_run.
#include <poll.h>

#include "io/uring.h"

static enum kind kind_of_completion(const struct io_uring_cqe *cqe) {
    return (enum kind)(cqe->user_data >> TOKEN_BITS);
}
void uring_watch_signals(struct uring_io *io) {
    struct io_uring_sqe *sqe = ring_note(&io->ring);
    io_uring_prep_poll_multishot(sqe, io->signals.descriptor, POLLIN);
    sqe->user_data = uring_data(KIND_SIGNAL, 0);
}

static bool next_signal(struct uring_io *io, struct io_event *event) {
    io->ring.entries++;
    return signals_next(&io->signals, event);
}

// Takes the completions off the front that nobody waits for; whether one is left that somebody does.
static bool skip_silent(struct uring_io *io) {
    unsigned tail = ring_tail(&io->ring);
    for (;;) {
        const struct io_uring_cqe *cqe = ring_front(&io->ring, tail);
        if (!cqe)
            return false;
        enum kind kind = kind_of_completion(cqe);
        if (kind != KIND_WAKE && kind != KIND_SILENT)
            return true;
        io->woken |= kind == KIND_WAKE;
        io_uring_cq_advance(&io->ring.uring, 1);
    }
}

static uint64_t wait_until(uint64_t deadline_ns) {
    if (deadline_ns == 0 || deadline_ns == UINT64_MAX)
        return deadline_ns;
    uint64_t now_ns = io_clock_ns();
    return deadline_ns > now_ns ? deadline_ns - now_ns : 0;
}

// Enters without waiting, once and then as often as something stirs. False when the time has passed without a
// reason to return.
static bool spin(struct uring_io *io, uint64_t until_ns) {
    for (;;) {
        ring_enter(&io->ring, 0, 0);
        io->io.now_ns = io_clock_ns();
        if (skip_silent(io) || io->woken)
            return true;
        for (; !ring_stirs(&io->ring); io->io.now_ns = io_clock_ns()) {
            if (io->io.now_ns >= until_ns)
                return false;
            spin_pause();
        }
    }
}

// The first wait may be held; what is left of the time then isn't.
static void wait_for_completions(struct uring_io *io, uint64_t deadline_ns) {
    bool ready = skip_silent(io), first = true;
    do {
        uint64_t wait_ns = ready || io->woken ? 0 : wait_until(deadline_ns);
        uint64_t hold_ns = first ? coalesce_hold(&io->coalesce, wait_ns) : 0;
        uint64_t began_ns = hold_ns ? io_clock_ns() : 0;
        io->held += hold_ns != 0;
        first = false;
        ring_enter(&io->ring, wait_ns, hold_ns);
        io->io.now_ns = io_clock_ns();
        ready = skip_silent(io);
        if (hold_ns && (ready || io->woken))
            coalesce_waited(&io->coalesce, io->io.now_ns - began_ns);
    } while (!ready && !io->woken && io->io.now_ns < deadline_ns);
}

// A verb that finds the queue full submits, and what completes by that must wait for its turn: a handler
// that keeps making events can't keep the loop from running.
static void gather(struct uring_io *io) {
    io->gathered = ring_tail(&io->ring);
    io->entered = io->ring.entries;
}

void uring_run(struct io *base, uint64_t deadline_ns) {
    struct uring_io *io = uring_of(base);
    assert(io->magic == IO_MAGIC);
    uring_buffers_fill(&io->buffers, &io->ring);
    uint64_t began_ns = io->spin.max_ns ? io_clock_ns() : 0;
    bool spins = spin_pays(&io->spin) && deadline_ns > began_ns;
    if (!spins || !spin(io, spin_end(&io->spin, began_ns, deadline_ns)))
        wait_for_completions(io, deadline_ns);
    if (io->spin.max_ns)
        spin_learn(&io->spin, base->now_ns - began_ns);
    io->woken = false;
    gather(io);
    if (coalesce_woke(&io->coalesce, base->now_ns))
        coalesce_evaluate(&io->coalesce, base->now_ns, io_used_ns());
}

// A turn that uses up more buffers touches more memory than the cache keeps.
bool uring_has_arrivals(const struct io *base) {
    const struct uring_io *io = (const struct uring_io *)base;
    bool pays = io->ring.entries == io->entered && uring_buffers_left(&io->buffers) > io->buffers.max / 2;
    return pays && ring_stirs(&io->ring);
}

void uring_poll(struct io *base) {
    struct uring_io *io = uring_of(base);
    ring_look(&io->ring);
    gather(io);
}

static void fill_received(struct uring_io *io, const struct io_uring_cqe *cqe, struct io_event *event) {
    event->kind = IO_RECEIVED;
    coalesce_came(&io->coalesce, cqe->res > 0 ? (uint64_t)cqe->res : 0);
    if (!(cqe->flags & IORING_CQE_F_BUFFER))
        return;
    struct buffer *buffer = uring_buffers_return(&io->buffers, cqe->flags >> IORING_CQE_BUFFER_SHIFT);
    if (cqe->res > 0)
        event->buffer = buffer;
    else
        buffer_drop(buffer);
}

// Whether the completion is an event by itself.
static bool fill_event(struct uring_io *io, const struct io_uring_cqe *cqe, struct io_event *event) {
    *event = (struct io_event){
        .more = cqe->flags & IORING_CQE_F_MORE,
        .result = cqe->res,
        .token = cqe->user_data & ((UINT64_C(1) << TOKEN_BITS) - 1),
    };
    switch (kind_of_completion(cqe)) {
    case KIND_ACCEPT:
        event->kind = IO_ACCEPTED;
        return true;
    case KIND_RECEIVE:
        fill_received(io, cqe, event);
        return true;
    case KIND_SEND:
        event->kind = IO_SENT;
        return true;
    case KIND_WRITE:
        event->kind = IO_WRITTEN;
        return true;
    case KIND_SYNC:
        event->kind = IO_SYNCED;
        return true;
    case KIND_GONE:
        return uring_gone(cqe, event);
    case KIND_CONNECT:
        event->kind = IO_CONNECTED;
        return true;
    case KIND_SIGNAL:
        io->signals.ready = true;
        if (!event->more)
            uring_watch_signals(io);
        return false;
    case KIND_WAKE:
    case KIND_SILENT:
        return false;
    }
    assert(false);
    return false;
}

bool uring_next(struct io *base, struct io_event *event) {
    struct uring_io *io = uring_of(base);
    for (;;) {
        if (io->signals.ready && next_signal(io, event))
            return true;
        const struct io_uring_cqe *cqe = ring_front(&io->ring, io->gathered);
        if (!cqe)
            return false;
        bool whole = fill_event(io, cqe, event);
        io_uring_cq_advance(&io->ring.uring, 1);
        if (whole)
            return true;
    }
}
