// The verbs of io/io.h over the simulated kernel. A verb makes a note. io_run carries the notes out and lends buffers.
// Until there is a reason to return, io_run gives the thread to the scheduler of the shards.
#include "tests/sim/sim_io.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/limits.h"
#include "core/rights/users.h"
#include "tests/sim/fiber.h"
#include "tests/sim/kernel.h"

enum { LONG_PER_MILLE = 100, LONG_STEPS = 64 };

static struct kernel *used;

void kernel_use(struct kernel *kernel) {
    used = kernel;
}

// Mostly for a step or so, now and then for long: others take many turns meanwhile. The other shards judge by users
// files of their own, as each real thread does.
void sim_preempt(void) {
    const struct users *judging = users_judging;
    if (!fiber_runs() || !random_chance(used->random, used->faults.preempt))
        return;
    for (uint32_t steps = random_chance(used->random, LONG_PER_MILLE) ? LONG_STEPS : 1; steps; steps--)
        fiber_yield();
    users_judge_by(judging);
}

// --- Buffers

// Bytes for a stale reference into a buffer that is lent: they mean something in JSON and in a header block.
static void scribble(struct kernel *kernel, void *memory, size_t bytes) {
    static const char nasty[] = "\"\\{}[]0,: \r\n\xff";
    memset(memory, nasty[random_below(kernel->random, sizeof nasty)], bytes);
}

static void lend(struct io *io) {
    while (io->lent_count < io->lent_max) {
        struct buffer *buffer = buffer_take(io->pool);
        if (!buffer)
            return;
        if (buffer->references != 1)
            kernel_fail("the pool gave a buffer with %u references", buffer->references);
        scribble(io->kernel, buffer->bytes, buffer->capacity + BUFFER_SLACK_BYTES);
        io->lent[io->lent_count++] = buffer;
    }
}

// As many as it is told, or chance allows.
static uint32_t lent_max(const struct io *io, uint32_t buffers) {
    uint32_t most = io->kernel->faults.lent_max;
    return most && most < buffers ? most : buffers;
}

void io_provide_buffers(struct io *io, uint32_t buffers) {
    if (!buffers)
        kernel_fail("no buffer may be lent");
    io->lent_max = lent_max(io, buffers < io->opened_for ? buffers : io->opened_for);
    while (io->lent_count > io->lent_max)
        buffer_drop(io_buffer(io));
}

struct buffer *io_buffer(struct io *io) {
    return io->lent_count ? io->lent[--io->lent_count] : NULL;
}

// --- Opening and closing

int io_open(struct io **out, const struct io_options *options, const char **why) {
    struct io *io = calloc(1, sizeof *io);
    if (!io || used->io_count == IOS_MAX)
        kernel_fail("no room for another io");
    io->kernel = used;
    io->pool = options->pool;
    io->opened_for = options->buffers_provided;
    io->lent_max = lent_max(io, io->opened_for);
    io->lent = calloc(io->lent_max, sizeof(struct buffer *));
    io->now_ns = used->now_ns;
    used->ios[used->io_count++] = io;
    lend(io);
    *out = io;
    if (io->lent_count)
        return 0;
    io_close(io);
    *why = "the memory bound leaves no receive buffer";
    return -ENOMEM;
}

static void forget(struct io *io) {
    struct kernel *kernel = io->kernel;
    for (uint32_t index = 0; index < kernel->io_count; index++)
        if (kernel->ios[index] == io)
            kernel->ios[index] = kernel->ios[--kernel->io_count];
}

void io_close(struct io *io) {
    if (io->waiting || io->note_count)
        kernel_fail("an io was closed with %u notes left", io->note_count);
    for (uint32_t at = io->event_at; at < io->event_end; at++)
        if (io->events[at].kind != IO_SIGNAL)
            kernel_fail("an io was closed with an event of kind %d left", io->events[at].kind);
    for (uint32_t index = 0; index < io->kernel->cable_count; index++) {
        struct cable *cable = io->kernel->cables[index];
        if ((cable->receive.armed && cable->receive.io == io) ||
            (cable->send.armed && cable->send.io == io) || (cable->watch.armed && cable->watch.io == io) ||
            (cable->connect.armed && cable->connect.io == io))
            kernel_fail("an io was closed with an operation under way");
    }
    while (io->lent_count)
        buffer_drop(io_buffer(io));
    forget(io);
    free(io->lent);
    free(io->events);
    free(io);
}

// --- Verbs

static struct note *note(struct io *io, enum note_kind kind, int socket, uint64_t token) {
    sim_preempt();
    if (io->note_count == NOTES_MAX)
        kernel_fail("too many notes in one turn");
    if (token >> 56)
        kernel_fail("a token of more than 56 bits");
    struct note *fresh = &io->notes[io->note_count++];
    *fresh = (struct note){.kind = kind, .socket = socket};
    fresh->operation = (struct operation){.armed = true, .io = io, .token = token};
    return fresh;
}

void io_accept(struct io *io, int socket, uint64_t token) {
    note(io, NOTE_ACCEPT, socket, token);
}

int io_connect(struct io *io, const struct sockaddr *address, uint32_t bytes, uint64_t token) {
    int number;
    const struct sockaddr_in *there = (const struct sockaddr_in *)(const void *)address;
    if (address->sa_family != AF_INET || bytes < sizeof *there)
        kernel_fail("the hub connects to what is no address");
    if (random_chance(io->kernel->random, io->kernel->faults.accept_failure))
        return -EMFILE;
    struct cable *cable = cable_of_hub(io->kernel, &number);
    cable->port = ntohs(there->sin_port);
    note(io, NOTE_CONNECT, number, token);
    return number;
}

void io_receive(struct io *io, int socket, uint64_t token, uint32_t most) {
    struct operation *operation = &note(io, NOTE_RECEIVE, socket, token)->operation;
    operation->once = most > 0;
    operation->bytes = most ? most : ARRIVAL_BYTES_MAX;
}

void io_receive_into(struct io *io, int socket, uint64_t token, void *memory, size_t bytes) {
    if (!bytes)
        kernel_fail("a direct receive of nothing");
    struct operation *operation = &note(io, NOTE_RECEIVE, socket, token)->operation;
    operation->memory = memory;
    operation->bytes = bytes;
    operation->once = true;
    scribble(io->kernel, memory, bytes);
}

static size_t vectors_bytes(const struct iovec *vectors, unsigned count) {
    size_t bytes = 0;
    for (unsigned index = 0; index < count; index++)
        bytes += vectors[index].iov_len;
    if (!count || count > 1024 || !bytes)
        kernel_fail("a send or write of %u vectors and %zu bytes", count, bytes);
    return bytes;
}

void io_send(struct io *io, int socket, uint64_t token, const struct iovec *vectors, unsigned count) {
    vectors_bytes(vectors, count);
    struct operation *operation = &note(io, NOTE_SEND, socket, token)->operation;
    operation->vectors = vectors;
    operation->count = count;
}

void io_file_write(struct io *io, const struct io_file *file, uint64_t token, const struct iovec *vectors,
                   unsigned count) {
    struct operation *operation = &note(io, NOTE_WRITE, file->number, token)->operation;
    operation->bytes = vectors_bytes(vectors, count);
    operation->vectors = vectors;
    operation->count = count;
}

void io_file_sync(struct io *io, const struct io_file *file, uint64_t token) {
    note(io, NOTE_SYNC, file->number, token);
}

void io_cancel(struct io *io, int socket, uint64_t token) {
    note(io, NOTE_CANCEL, socket, token);
}

void io_watch(struct io *io, int socket, uint64_t token) {
    note(io, NOTE_WATCH, socket, token);
}

void io_unwatch(struct io *io, int socket, uint64_t token) {
    note(io, NOTE_UNWATCH, socket, token);
}

void io_close_socket(struct io *io, int socket) {
    note(io, NOTE_CLOSE, socket, 0);
}

void io_wake(struct io *io, struct io *other) {
    if (io == other)
        kernel_fail("an io woke itself");
    note(io, NOTE_WAKE, -1, 0)->other = other;
}

int io_signals(struct io *io, uint64_t token) {
    io->takes_signals = true;
    io->signals_token = token;
    return 0;
}

// --- Carrying notes out

// Returns a cable that may be used: it doesn't connect any more.
static struct cable *connected(struct kernel *kernel, int number) {
    struct cable *cable = kernel_socket(kernel, number)->cable;
    if (cable->connect.armed)
        kernel_fail("a socket is used that connects");
    return cable;
}

static void arm(struct operation *operation, const struct operation *noted) {
    if (operation->armed)
        kernel_fail("a second operation of one kind on one socket (token %llx)",
                    (unsigned long long)noted->token);
    *operation = *noted;
}

static void cancel(struct kernel *kernel, const struct note *noted) {
    struct socket_entry *entry = kernel_socket(kernel, noted->socket);
    struct operation *operation = entry->cable ? &entry->cable->receive : &entry->listener->accept;
    if (operation->armed && operation->io == noted->operation.io &&
        operation->token == noted->operation.token)
        operation->cancelled = true;
}

static void watch(struct kernel *kernel, struct cable *cable, const struct operation *noted) {
    if (cable->receive.armed)
        kernel_fail("a peer is watched whose end hasn't come");
    arm(&cable->watch, noted);
    cable->watch_told = false;
    cable->watch_tires = random_chance(kernel->random, kernel->faults.end_multishot);
    cable->probe_ns = cable->local ? 0 : kernel->now_ns + PROBE_NS;
}

static void unwatch(struct cable *cable, const struct operation *noted) {
    if (cable->watch.armed && cable->watch.io == noted->io && cable->watch.token == noted->token)
        cable->watch.cancelled = true;
}

static void close_socket(struct kernel *kernel, int number) {
    struct cable *cable = kernel_socket(kernel, number)->cable;
    if (!cable || cable->watch.armed || cable->receive.armed || cable->send.armed || cable->connect.armed)
        kernel_fail("socket %d was closed with an operation under way", number);
    if (queue_count(&cable->to_hub) && !cable->reset)
        cable->reset = true; // TCP tells the peer that its bytes were not read
    cable->hub_closed = true;
    cable->closed_ns = kernel->now_ns;
    kernel->sockets[number] = (struct socket_entry){0};
    cable_settle(cable);
}

static void carry_out(struct io *io, const struct note *noted) {
    struct kernel *kernel = io->kernel;
    switch (noted->kind) {
    case NOTE_ACCEPT:
        arm(&kernel_socket(kernel, noted->socket)->listener->accept, &noted->operation);
        break;
    case NOTE_CONNECT:
        arm(&kernel_socket(kernel, noted->socket)->cable->connect, &noted->operation);
        break;
    case NOTE_RECEIVE:
        arm(&connected(kernel, noted->socket)->receive, &noted->operation);
        break;
    case NOTE_SEND:
        arm(&connected(kernel, noted->socket)->send, &noted->operation);
        kernel_socket(kernel, noted->socket)->cable->taken_ns = kernel->now_ns;
        break;
    case NOTE_CANCEL:
        cancel(kernel, noted);
        break;
    case NOTE_WATCH:
        watch(kernel, kernel_socket(kernel, noted->socket)->cable, &noted->operation);
        break;
    case NOTE_UNWATCH:
        unwatch(kernel_socket(kernel, noted->socket)->cable, &noted->operation);
        break;
    case NOTE_CLOSE:
        close_socket(kernel, noted->socket);
        break;
    case NOTE_WAKE:
        noted->other->waking = true;
        break;
    case NOTE_WRITE:
    case NOTE_SYNC:
        disk_begin(kernel, noted->socket, &noted->operation, noted->kind == NOTE_SYNC);
        break;
    }
}

static void carry_out_all(struct io *io) {
    for (uint32_t index = 0; index < io->note_count; index++)
        carry_out(io, &io->notes[index]);
    io->note_count = 0;
    io->entries++;
}

// Does nothing: one hub alone listens in the simulation.
void io_yield_listener(struct io *io, int socket) {
    (void)io;
    (void)socket;
}

void io_shutdown(struct io *io, int socket, int how) {
    carry_out_all(io);
    struct socket_entry *entry = kernel_socket(io->kernel, socket);
    if (entry->listener) {
        entry->listener->shut = true;
        listener_refuse_all(entry->listener);
        return;
    }
    if (entry->cable->connect.armed && how != SHUT_RDWR)
        kernel_fail("a socket that connects was shut in one direction");
    entry->cable->given_up |= entry->cable->connect.armed;
    entry->cable->hub_shut_write |= how == SHUT_WR || how == SHUT_RDWR;
    entry->cable->hub_shut_read |= how == SHUT_RD || how == SHUT_RDWR;
}

// Bytes without room are lost.
void io_send_now(struct io *io, int socket, const void *bytes, size_t count) {
    struct cable *cable = kernel_socket(io->kernel, socket)->cable;
    if (cable->send.armed)
        kernel_fail("a last word while a send is under way on socket %d", socket);
    if (!cable->reset && !cable->hub_shut_write && !cable->peer_closed && cable_room(cable) >= count)
        queue_add(&cable->to_peer, bytes, count);
}

bool io_is_peer_gone(struct io *io, int socket) {
    return cable_peer_gone(kernel_socket(io->kernel, socket)->cable);
}

void io_read_peer_address(struct io *io, int socket, struct io_peer_address *out) {
    const struct cable *cable = kernel_socket(io->kernel, socket)->cable;
    *out = (struct io_peer_address){.is_user = cable->local, .user = cable->user};
    if (!cable->local)
        memcpy(out->address, &cable->address, sizeof cable->address);
}

// No caller says the same twice.
void io_limit_backlog(struct io *io, int socket, uint32_t bytes) {
    struct cable *cable = kernel_socket(io->kernel, socket)->cable;
    if ((bytes > 0) == (cable->narrow_bytes > 0))
        kernel_fail("socket %d was made %s, which it was", socket, bytes ? "narrow" : "wide");
    cable->narrow_bytes = bytes;
}

uint32_t io_ack_mark(struct io *io, int socket) {
    return kernel_socket(io->kernel, socket)->cable->shown;
}

// --- Running

void io_event(struct io *io, const struct io_event *event) {
    if (io->event_end == io->event_capacity) {
        io->event_capacity = io->event_capacity ? io->event_capacity * 2 : 64;
        io->events = realloc(io->events, io->event_capacity * sizeof *io->events);
        if (!io->events)
            abort();
    }
    io->events[io->event_end++] = *event;
    kernel_trace(io->kernel, event->token << 8 ^ (uint64_t)event->kind << 4 ^ event->more);
    kernel_trace(io->kernel, (uint64_t)(int64_t)event->result);
}

bool sim_io_ready(const struct io *io) {
    return !io->waiting || io->event_at != io->event_end || io->woken ||
           io->deadline_ns <= io->kernel->now_ns;
}

bool sim_io_waits(const struct io *io) {
    return io->waiting;
}

bool sim_io_sleeps(const struct io *io) {
    return !sim_io_ready(io) && !io->waking;
}

uint64_t sim_io_deadline(const struct io *io) {
    return io->deadline_ns;
}

void io_run(struct io *io, uint64_t deadline_ns) {
    if (io->event_at != io->gathered)
        kernel_fail("io_run before all events were taken");
    if (io->event_at == io->event_end)
        io->event_at = io->event_end = 0;
    carry_out_all(io);
    lend(io);
    io->deadline_ns = deadline_ns;
    io->gathered = io->event_at;
    io->waiting = true;
    fiber_yield();
    if (!sim_io_ready(io))
        kernel_fail("a shard was resumed for no reason");
    io->waiting = false;
    io->woken = false;
    io->now_ns = io->kernel->now_ns;
    io->gathered = io->event_end;
    io->entered = io->entries;
}

bool io_next(struct io *io, struct io_event *event) {
    if (io->event_at == io->gathered)
        return false;
    *event = io->events[io->event_at++];
    return true;
}

bool io_has_arrivals(struct io *io) {
    sim_preempt();
    return io->event_end != io->gathered && io->entries == io->entered;
}

void io_poll(struct io *io) {
    if (io->event_end == io->gathered || io->entries != io->entered)
        kernel_fail("a look was taken that doesn't pay");
    io->gathered = io->event_end;
}

const char *io_name(const struct io *io) {
    (void)io;
    return "simulated";
}

uint64_t io_now(const struct io *io) {
    return io->now_ns;
}

// Work between two looks at the clock has taken time.
uint64_t io_clock(const struct io *io) {
    struct kernel *kernel = io->kernel;
    if (kernel->faults.work_ns && fiber_runs())
        kernel->now_ns += random_below(kernel->random, kernel->faults.work_ns);
    return kernel->now_ns;
}

uint64_t io_cpu_ns(const struct io *io) {
    (void)io;
    return 0;
}

uint64_t io_wall_ns(const struct io *io) {
    return kernel_wall_ms(io->kernel) * 1000000 + io->kernel->now_ns % 1000000;
}

uint64_t io_entries(const struct io *io) {
    return io->entries;
}

uint64_t io_held_waits(const struct io *io) {
    (void)io; // a simulated wait is as long as it takes
    return 0;
}
