// bench_relay: the limit that the hub is measured against. The relay has the hub's topology, and reads nothing. Its way
// into the kernel is the hub's (io/io.h): arrivals in shared buffers, one send a destination a turn. Bytes of a source
// are cut into blocks of a fixed size. Each block goes to a target picked at random (or, with --one-to-one, always to
// the same). Blocks of a target go to the sources in the order in which it was given theirs.
//
//   bench_relay URI BLOCK-BYTES [--one-to-one]
//
// A block that was cut by the end of an arrival waits until it is whole, so that none is ever mixed with
// another. Small blocks are copied together, large ones are sent from where they lie, as the hub does it.
//
// Success: the relay serves one load and is ended by a signal. Failure: a URI that can't be listened on, or
// an io that is refused, is exit status 1. A connection that breaks is closed, and blocks for it are dropped.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench/load/load_relay.h"
#include "bench/relay_queue.h"
#include "core/base/limits.h"
#include "io/listener.h"

enum { BLOCK_BYTES_MAX = 1 << 24 };
#define TOKEN_LISTENER (UINT64_C(1) << 40)

// Part of a block that isn't whole yet.
struct piece {
    struct buffer *buffer;
    uint8_t *at;
    size_t bytes;
};

struct end {
    int socket;
    uint32_t index;
    char side; // 0: hasn't said
    bool listed, receiving, closed;
    struct relay_queue queue;
    struct end *next; // of those with something to send

    // The block that has begun: pieces, or where blocks are copied its bytes.
    struct piece *pieces;
    size_t pieces_count, pieces_capacity, begun_bytes;

    // For a target: the sources whose blocks it was given and has not answered, a ring.
    struct end **asked;
    uint64_t asked_head, asked_tail, asked_capacity;
};

struct relay {
    struct io *io;
    struct buffer_budget budget;
    struct buffer_pool pool;
    struct listener listener;
    size_t block_bytes;
    bool one_to_one;
    bool copies; // blocks are copied together
    struct end **ends, **targets;
    uint32_t ends_count, targets_count, ends_capacity;
    struct end *unsent;
    uint64_t random;
};

static void die(const char *what, const char *why) {
    fprintf(stderr, "bench_relay: %s: %s\n", what, why);
    exit(1);
}

// Memory that a measurement can't go on without.
static void *more(void *memory, size_t count, size_t size) {
    void *moved = reallocarray(memory, count, size);
    if (moved == NULL) {
        die("memory", strerror(ENOMEM));
    }
    return moved;
}

// --- Where a block goes

static uint64_t draw(struct relay *relay) {
    relay->random ^= relay->random << 13; // xorshift64 (Marsaglia 2003)
    relay->random ^= relay->random >> 7;
    relay->random ^= relay->random << 17;
    return relay->random;
}

static void ask(struct end *target, struct end *source) {
    if (target->asked_tail - target->asked_head == target->asked_capacity) {
        uint64_t old = target->asked_capacity, capacity = old > 0 ? old * 2 : 64;
        struct end **ring = more(NULL, capacity, sizeof *ring);
        for (uint64_t at = target->asked_head; at < target->asked_tail; at++) {
            ring[at & (capacity - 1)] = target->asked[at & (old - 1)];
        }
        free(target->asked);
        target->asked = ring;
        target->asked_capacity = capacity;
    }
    target->asked[target->asked_tail++ & (target->asked_capacity - 1)] = source;
}

// Where this end's next block goes; NULL: nowhere.
static struct end *destination(struct relay *relay, struct end *from) {
    if (from->side == RELAY_TARGET) {
        return from->asked_head == from->asked_tail
                   ? NULL
                   : from->asked[from->asked_head++ & (from->asked_capacity - 1)];
    }
    if (relay->targets_count == 0) {
        return NULL;
    }
    uint64_t number = relay->one_to_one ? from->index : draw(relay) >> 32;
    struct end *target = relay->targets[number % relay->targets_count];
    ask(target, from);
    return target;
}

// --- Passing on

static void pass(struct relay *relay, struct end *to, struct buffer *buffer, uint8_t *at, size_t bytes) {
    if (to == NULL || to->closed) {
        return;
    }
    bool taken = relay->copies ? relay_queue_copy(&to->queue, at, bytes)
                               : relay_queue_lend(&to->queue, buffer, at, bytes);
    if (!taken) {
        die("memory", strerror(ENOMEM));
    }
    if (!to->listed) {
        to->listed = true;
        to->next = relay->unsent;
        relay->unsent = to;
    }
}

static void drop_pieces(struct end *from) {
    for (size_t index = 0; index < from->pieces_count; index++) {
        buffer_drop(from->pieces[index].buffer);
    }
    from->pieces_count = 0;
    from->begun_bytes = 0;
}

static void begin_block(struct end *from, struct buffer *buffer, uint8_t *at, size_t bytes) {
    if (from->pieces_count == from->pieces_capacity) {
        from->pieces_capacity = from->pieces_capacity * 2 + 4;
        from->pieces = more(from->pieces, from->pieces_capacity, sizeof *from->pieces);
    }
    buffer_hold(buffer);
    from->pieces[from->pieces_count++] = (struct piece){buffer, at, bytes};
    from->begun_bytes += bytes;
}

static void end_block(struct relay *relay, struct end *from) {
    struct end *to = destination(relay, from);
    for (size_t index = 0; index < from->pieces_count; index++) {
        const struct piece *piece = &from->pieces[index];
        pass(relay, to, piece->buffer, piece->at, piece->bytes);
    }
    drop_pieces(from);
}

static void cut_blocks(struct relay *relay, struct end *from, struct buffer *buffer, size_t at, size_t end) {
    while (at < end) {
        size_t missing = relay->block_bytes - from->begun_bytes;
        if (end - at < missing) {
            begin_block(from, buffer, buffer_arrival(buffer) + at, end - at);
            return;
        }
        if (from->begun_bytes > 0) {
            begin_block(from, buffer, buffer_arrival(buffer) + at, missing);
            end_block(relay, from);
        } else {
            pass(relay, destination(relay, from), buffer, buffer_arrival(buffer) + at, missing);
        }
        at += missing;
    }
}

// --- Connections

static void greet(struct relay *relay, struct end *end, struct buffer *buffer) {
    end->side = (char)buffer_arrival(buffer)[0];
    if (end->side == RELAY_TARGET) {
        relay->targets = more(relay->targets, relay->targets_count + 1, sizeof *relay->targets);
        relay->targets[relay->targets_count++] = end;
    }
    pass(relay, end, buffer, buffer_arrival(buffer), 1);
}

static void accepted(struct relay *relay, const struct io_event *event) {
    if (!event->more) {
        io_accept(relay->io, relay->listener.socket, TOKEN_LISTENER);
    }
    if (event->result < 0) {
        return;
    }
    if (relay->ends_count == relay->ends_capacity) {
        relay->ends_capacity = relay->ends_capacity * 2 + 64;
        relay->ends = more(relay->ends, relay->ends_capacity, sizeof(struct end *));
    }
    struct end *end = more(NULL, 1, sizeof *end);
    *end = (struct end){.socket = event->result, .index = relay->ends_count};
    relay->ends[relay->ends_count++] = end;
    end->receiving = true;
    io_receive(relay->io, end->socket, end->index, false);
}

// A connection that has ended stays in the tables, so that nothing that points to it needs to be found.
static void close_end(struct relay *relay, struct end *end) {
    if (!end->closed) {
        end->closed = true;
        drop_pieces(end);
        io_shutdown(relay->io, end->socket, 2);
    }
    if (!end->receiving && !end->queue.sending && end->socket >= 0) {
        relay_queue_clear(&end->queue);
        io_close_socket(relay->io, end->socket);
        end->socket = -1;
    }
}

static void received(struct relay *relay, struct end *end, const struct io_event *event) {
    end->receiving = event->more;
    bool over = end->closed || (event->result <= 0 && event->result != -ENOBUFS);
    if (event->result > 0 && !over) {
        size_t at = 0;
        if (end->side == 0) {
            greet(relay, end, event->buffer);
            at = 1;
        }
        cut_blocks(relay, end, event->buffer, at, (size_t)event->result);
    }
    buffer_drop(event->buffer);
    if (over) {
        close_end(relay, end);
    } else if (!event->more) {
        end->receiving = true;
        io_receive(relay->io, end->socket, end->index, false);
    }
}

static void sent(struct relay *relay, struct end *end, const struct io_event *event) {
    if (event->result <= 0 || end->closed) {
        end->queue.sending = false;
        close_end(relay, end);
        return;
    }
    relay_queue_sent(&end->queue, relay->io, end->socket, end->index, (size_t)event->result);
    if (!end->queue.sending) {
        relay_queue_send(&end->queue, relay->io, end->socket, end->index);
    }
}

static void flush(struct relay *relay) {
    for (struct end *end; (end = relay->unsent) != NULL;) {
        relay->unsent = end->next;
        end->listed = false;
        if (!end->closed) {
            relay_queue_send(&end->queue, relay->io, end->socket, end->index);
        }
    }
}

static void turn(struct relay *relay) {
    struct io_event event;
    io_run(relay->io, UINT64_MAX);
    while (io_next(relay->io, &event)) {
        if (event.kind == IO_ACCEPTED) {
            accepted(relay, &event);
        } else if (event.kind == IO_RECEIVED) {
            received(relay, relay->ends[event.token], &event);
        } else if (event.kind == IO_SENT) {
            sent(relay, relay->ends[event.token], &event);
        }
    }
    flush(relay);
}

// --- The program

static void open_relay(struct relay *relay, const char *uri) {
    struct address address;
    const char *why = "no URI to listen on";
    if (address_parse(&address, uri) < 0 || listener_open(&relay->listener, &address, false, &why) < 0) {
        die(uri, why);
    }
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    relay->budget.bytes_max = UINT64_MAX;
    buffer_pool_init(&relay->pool, &relay->budget);
    struct io_options options = {
        .pool = &relay->pool,
        .buffers_provided = RECEIVE_BUFFERS_PROVIDED,
        .backend = io_try(IO_URING, &why) == 0 ? IO_URING : IO_EPOLL, // as the hub chooses
    };
    if (io_open(&relay->io, &options, &why) < 0) {
        die("io", why);
    }
    io_accept(relay->io, relay->listener.socket, TOKEN_LISTENER);
    char listening[256];
    address_format(&relay->listener.address, listening, sizeof listening);
    fprintf(stderr, "listening %s\n", listening);
}

int main(int argc, char **argv) {
    static struct relay relay = {.random = 0x9e3779b97f4a7c15ULL};
    char *end = NULL;
    unsigned long bytes = argc >= 3 ? strtoul(argv[2], &end, 10) : 0;
    relay.one_to_one = argc == 4 && strcmp(argv[3], "--one-to-one") == 0;
    if (argc < 3 || argc > 4 || (argc == 4 && !relay.one_to_one) || *end != '\0' || bytes == 0 ||
        bytes > BLOCK_BYTES_MAX) {
        fputs("usage: bench_relay URI BLOCK-BYTES [--one-to-one]\n", stderr);
        return 2;
    }
    relay.block_bytes = bytes;
    // Blocks that stay neighbours are one piece, however small they are.
    relay.copies = !relay.one_to_one && bytes <= COPY_BYTES_MAX + RELAY_WRAP_BYTES;
    open_relay(&relay, argv[1]);
    for (;;) {
        turn(&relay);
    }
}
