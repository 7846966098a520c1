// Work of the simulated kernel by itself, one piece at a time: arrivals, departures, accepts, cancels, wakes
// and signals. Chance chooses the next piece, and a piece that could be done may also have to wait.
#include "tests/sim/kernel.h"
#include "tests/sim/programs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW_BYTES = 256 * 1024, PROGRAMS_A_STEP = 16 };

void kernel_fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("simulation: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}

// --- The kernel itself

struct kernel *kernel_create(struct random *random) {
    struct kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel)
        abort();
    kernel->random = random;
    kernel->now_ns = UINT64_C(1000000000);
    kernel->wall_ahead_ms = WALL_AHEAD_MS;
    kernel->faults.window_bytes = WINDOW_BYTES;
    kernel->disk.room = SIZE_MAX;
    kernel->refuse_after = UINT64_MAX;
    return kernel;
}

void kernel_set_faults(struct kernel *kernel, const struct sim_faults *faults) {
    kernel->faults = *faults;
    if (!kernel->faults.window_bytes)
        kernel->faults.window_bytes = WINDOW_BYTES;
}

void listener_refuse_all(struct listener_socket *listener) {
    for (uint32_t index = 0; index < listener->backlog_count; index++) {
        struct cable *cable = listener->backlog[index];
        cable->hub_closed = cable->reset = true;
        cable_settle(cable);
    }
    listener->backlog_count = 0;
}

static void close_listener(struct socket_entry *entry) {
    listener_refuse_all(entry->listener);
    free(entry->listener);
    entry->listener = NULL;
}

void kernel_destroy(struct kernel *kernel) {
    if (getenv("SIM_TRACES"))
        printf("trace %016" PRIx64 "\n", kernel->trace);
    programs_forget(kernel);
    for (int number = 0; number < SOCKETS_MAX; number++) {
        if (kernel->sockets[number].listener)
            close_listener(&kernel->sockets[number]);
        if (kernel->sockets[number].cable)
            kernel_fail("socket %d was never closed", number);
    }
    if (kernel->io_count || kernel->cable_count)
        kernel_fail("%u io and %u cables are left", kernel->io_count, kernel->cable_count);
    disk_forget(kernel);
    free(kernel);
}

uint64_t kernel_wall_ms(const struct kernel *kernel) {
    return kernel->now_ns / 1000000 + kernel->wall_ahead_ms;
}

void kernel_step_wall(struct kernel *kernel, int64_t by_ms) {
    kernel->wall_ahead_ms += (uint64_t)by_ms;
    kernel_trace(kernel, kernel->wall_ahead_ms);
}

uint64_t kernel_now(const struct kernel *kernel) {
    return kernel->now_ns;
}

void kernel_advance(struct kernel *kernel, uint64_t to_ns) {
    if (to_ns > kernel->now_ns)
        kernel->now_ns = to_ns;
    for (uint32_t index = 0; index < kernel->cable_count; index++)
        cable_probe(kernel->cables[index]);
    programs_pass(kernel);
    kernel_trace(kernel, kernel->now_ns);
}

void kernel_trace(struct kernel *kernel, uint64_t value) {
    kernel->trace = (rotate_left(kernel->trace, 5) ^ value) * UINT64_C(0x517cc1b727220a95);
}

uint64_t kernel_traced(const struct kernel *kernel) {
    return kernel->trace;
}

void kernel_signal(struct kernel *kernel, int number) {
    if (kernel->signal_count < SIGNALS_MAX)
        kernel->signals[kernel->signal_count++] = number;
}

uint64_t kernel_refuse(struct kernel *kernel, uint64_t after, uint64_t count, int32_t error) {
    uint64_t left = kernel->refuse_after;
    kernel->refuse_after = count ? after : UINT64_MAX;
    kernel->refuse_count = count;
    kernel->refuse_error = error;
    return left;
}

// --- Sockets

struct socket_entry *kernel_socket(struct kernel *kernel, int number) {
    if (number < 0 || number >= SOCKETS_MAX ||
        (!kernel->sockets[number].cable && !kernel->sockets[number].listener))
        kernel_fail("socket %d isn't open", number);
    return &kernel->sockets[number];
}

static int lowest_free(const struct kernel *kernel) {
    for (int number = 0; number < SOCKETS_MAX; number++)
        if (!kernel->sockets[number].cable && !kernel->sockets[number].listener)
            return number;
    kernel_fail("out of sockets");
}

// Every other connection is by a Unix socket.
int kernel_number(struct kernel *kernel, struct cable *cable) {
    int number = lowest_free(kernel);
    kernel->sockets[number].cable = cable;
    if (!cable->placed)
        cable->local = number % 2;
    cable->heard_ns = kernel->now_ns;
    return number;
}

int kernel_listen(struct kernel *kernel) {
    int number = lowest_free(kernel);
    kernel->sockets[number].listener = calloc(1, sizeof(struct listener_socket));
    if (!kernel->sockets[number].listener)
        abort();
    return number;
}

void kernel_secure(struct kernel *kernel, int listener) {
    kernel_socket(kernel, listener)->listener->secure = true;
}

uint32_t kernel_sockets(const struct kernel *kernel) {
    uint32_t count = 0;
    for (int number = 0; number < SOCKETS_MAX; number++)
        count += kernel->sockets[number].cable != NULL;
    return count;
}

// --- Ends of operations

static void end(struct operation *operation, enum io_event_kind kind, int32_t result, struct buffer *buffer,
                bool more) {
    operation->armed = more;
    io_event(operation->io,
             &(struct io_event){
                 .kind = kind, .more = more, .result = result, .token = operation->token, .buffer = buffer});
}

bool kernel_refused(struct kernel *kernel) {
    if (kernel->refuse_after == UINT64_MAX)
        return false;
    if (kernel->refuse_after > 0) {
        kernel->refuse_after--;
        return false;
    }
    if (--kernel->refuse_count == 0)
        kernel->refuse_after = UINT64_MAX;
    return true;
}

// Returns whether this operation is one that fails by kernel_refuse; then it has ended so.
static bool refused(struct kernel *kernel, struct operation *operation, enum io_event_kind kind) {
    if (!kernel_refused(kernel))
        return false;
    end(operation, kind, kernel->refuse_error, NULL, false);
    return true;
}

// --- Arrivals

static bool can_receive(const struct cable *cable) {
    return cable->receive.armed && (cable->receive.cancelled || queue_count(&cable->to_hub) ||
                                    cable->peer_shut || cable->reset || cable->hub_shut_read);
}

static size_t arrival_bytes(struct kernel *kernel, const struct cable *cable, size_t room) {
    size_t count = queue_count(&cable->to_hub) < room ? queue_count(&cable->to_hub) : room;
    if (random_chance(kernel->random, kernel->faults.single_byte))
        return 1;
    if (random_chance(kernel->random, kernel->faults.cut))
        return 1 + random_below(kernel->random, (uint32_t)count);
    return count;
}

static void receive_bytes(struct kernel *kernel, struct cable *cable) {
    struct operation *operation = &cable->receive;
    cable->heard_ns = kernel->now_ns;
    if (operation->memory) {
        size_t count = arrival_bytes(kernel, cable, operation->bytes);
        queue_take(&cable->to_hub, operation->memory, count);
        end(operation, IO_RECEIVED, (int32_t)count, NULL, false);
        return;
    }
    bool starved = random_chance(kernel->random, kernel->faults.no_buffer);
    struct buffer *buffer = starved ? NULL : io_buffer(operation->io);
    if (!buffer) {
        end(operation, IO_RECEIVED, -ENOBUFS, NULL, false);
        return;
    }
    size_t count = arrival_bytes(kernel, cable, operation->bytes);
    queue_take(&cable->to_hub, buffer_arrival(buffer), count);
    bool more = !operation->once && !random_chance(kernel->random, kernel->faults.end_multishot);
    end(operation, IO_RECEIVED, (int32_t)count, buffer, more);
}

static void do_receive(struct kernel *kernel, struct cable *cable) {
    struct operation *operation = &cable->receive;
    bool bytes = queue_count(&cable->to_hub) != 0;
    if (refused(kernel, operation, IO_RECEIVED))
        return;
    if (operation->cancelled && (!bytes || random_chance(kernel->random, 500)))
        end(operation, IO_RECEIVED, -ECANCELED, NULL, false);
    else if (random_chance(kernel->random, kernel->faults.interrupt))
        end(operation, IO_RECEIVED, -EINTR, NULL, false);
    else if (cable->reset && (!bytes || random_chance(kernel->random, 500)))
        end(operation, IO_RECEIVED, -ECONNRESET, NULL, false);
    else if (bytes)
        receive_bytes(kernel, cable);
    else
        end(operation, IO_RECEIVED, 0, NULL, false);
}

// --- Departures

static bool broken(const struct cable *cable) {
    return cable->reset || cable->peer_closed || cable->hub_shut_write;
}

static bool can_send(const struct cable *cable) {
    return cable->send.armed && (broken(cable) || cable_room(cable));
}

static void trace_bytes(struct kernel *kernel, const uint8_t *bytes, size_t count) {
    for (; count >= 8; bytes += 8, count -= 8) {
        uint64_t word;
        memcpy(&word, bytes, sizeof word);
        kernel_trace(kernel, word);
    }
    while (count--)
        kernel_trace(kernel, *bytes++);
}

// Moves up to `room` bytes on; true when the send has no more.
static bool move_on(struct kernel *kernel, struct cable *cable, size_t room) {
    struct operation *operation = &cable->send;
    while (operation->vector < operation->count) {
        const struct iovec *vector = &operation->vectors[operation->vector];
        size_t left = vector->iov_len - operation->offset;
        size_t count = left < room ? left : room;
        const uint8_t *from = (const uint8_t *)vector->iov_base + operation->offset;
        if (count) {
            queue_add(&cable->to_peer, from, count);
            trace_bytes(kernel, from, count);
        }
        operation->offset += count;
        operation->sent += count;
        room -= count;
        if (operation->offset < vector->iov_len)
            return false;
        operation->vector++;
        operation->offset = 0;
    }
    return true;
}

static void do_send(struct kernel *kernel, struct cable *cable) {
    struct operation *operation = &cable->send;
    if (cable->peer_closed)
        cable->reset = true;
    if (broken(cable)) {
        int32_t result = operation->sent ? (int32_t)operation->sent : -EPIPE;
        end(operation, IO_SENT, result, NULL, false);
        return;
    }
    if (!operation->sent && refused(kernel, operation, IO_SENT))
        return;
    if (!operation->sent && random_chance(kernel->random, kernel->faults.interrupt)) {
        end(operation, IO_SENT, -EINTR, NULL, false);
        return;
    }
    size_t room = cable_room(cable);
    if (random_chance(kernel->random, kernel->faults.cut))
        room = 1 + random_below(kernel->random, (uint32_t)room);
    bool whole = move_on(kernel, cable, room);
    if (!whole && !random_chance(kernel->random, kernel->faults.short_send))
        return;
    cable->taken_ns = kernel->now_ns;
    end(operation, IO_SENT, (int32_t)operation->sent, NULL, false);
}

// --- Watches

static bool can_watch(const struct cable *cable) {
    return cable->watch.armed &&
           (cable->watch.cancelled || cable->watch_tires || (cable_peer_gone(cable) && !cable->watch_told));
}

static void do_watch(struct kernel *kernel, struct cable *cable) {
    struct operation *operation = &cable->watch;
    bool gone = cable_peer_gone(cable) && !cable->watch_told;
    if (refused(kernel, operation, IO_GONE))
        return;
    if (gone && (!operation->cancelled || random_chance(kernel->random, 500))) {
        cable->watch_told = true;
        end(operation, IO_GONE, 0, NULL, random_chance(kernel->random, 500));
    } else {
        end(operation, IO_GONE, operation->cancelled ? -ECANCELED : -EAGAIN, NULL, false);
    }
}

// --- Connects

void kernel_answer(struct kernel *kernel, sim_answers *answers, void *context) {
    kernel->answers = answers;
    kernel->answers_context = context;
}

static bool can_connect(const struct cable *cable) {
    return cable->connect.armed && (!cable->silent || cable->given_up);
}

// The program that takes it holds its other end from then on.
static void do_connect(struct kernel *kernel, struct cable *cable) {
    struct operation *operation = &cable->connect;
    if (cable->given_up) {
        end(operation, IO_CONNECTED, -ECONNRESET, NULL, false);
        return;
    }
    if (refused(kernel, operation, IO_CONNECTED))
        return;
    cable->peer_shut = cable->peer_closed = false;
    enum sim_answer answer =
        kernel->answers ? kernel->answers(kernel->answers_context, cable->port, cable) : SIM_REFUSES;
    cable->peer_shut = cable->peer_closed = answer != SIM_ANSWERS;
    cable->silent = answer == SIM_SILENT;
    cable->heard_ns = kernel->now_ns;
    if (answer != SIM_SILENT)
        end(operation, IO_CONNECTED, answer == SIM_ANSWERS ? 0 : -ECONNREFUSED, NULL, false);
}

// --- Accepts, wakes, signals

static bool can_accept(const struct listener_socket *listener) {
    return listener->accept.armed &&
           (listener->accept.cancelled || listener->shut || listener->backlog_count);
}

static void do_accept(struct kernel *kernel, struct listener_socket *listener) {
    struct operation *operation = &listener->accept;
    if (operation->cancelled || listener->shut) {
        end(operation, IO_ACCEPTED, listener->shut ? -EINVAL : -ECANCELED, NULL, false);
        return;
    }
    if (refused(kernel, operation, IO_ACCEPTED))
        return;
    if (random_chance(kernel->random, kernel->faults.accept_failure)) {
        end(operation, IO_ACCEPTED, -EMFILE, NULL, false);
        return;
    }
    struct cable *cable = listener->backlog[0];
    listener->backlog_count--;
    memmove(listener->backlog, listener->backlog + 1, listener->backlog_count * sizeof(struct cable *));
    bool more = !random_chance(kernel->random, kernel->faults.end_multishot);
    end(operation, IO_ACCEPTED, kernel_number(kernel, cable), NULL, more);
}

static bool can_signal(const struct kernel *kernel, const struct io *io) {
    return io->takes_signals && kernel->signal_count;
}

static void do_wake(struct kernel *kernel, struct io *io) {
    if (io->waking) {
        io->waking = false;
        io->woken = true;
        return;
    }
    int number = kernel->signals[--kernel->signal_count];
    io_event(io, &(struct io_event){
                     .kind = IO_SIGNAL, .more = true, .result = number, .token = io->signals_token});
}

// --- One piece of work

enum work_kind {
    WORK_RECEIVE,
    WORK_SEND,
    WORK_WATCH,
    WORK_CONNECT,
    WORK_ACCEPT,
    WORK_WAKE,
    WORK_FILE,
    WORK_PROGRAM
};

struct work {
    enum work_kind kind;
    void *object;
};

static uint32_t find_work(struct kernel *kernel, struct work *works) {
    uint32_t count = 0;
    for (uint32_t index = 0; index < kernel->cable_count; index++) {
        struct cable *cable = kernel->cables[index];
        if (can_receive(cable))
            works[count++] = (struct work){WORK_RECEIVE, cable};
        if (can_send(cable))
            works[count++] = (struct work){WORK_SEND, cable};
        if (can_watch(cable))
            works[count++] = (struct work){WORK_WATCH, cable};
        if (can_connect(cable))
            works[count++] = (struct work){WORK_CONNECT, cable};
    }
    for (int number = 0; number < SOCKETS_MAX && number < 4; number++)
        if (kernel->sockets[number].listener && can_accept(kernel->sockets[number].listener))
            works[count++] = (struct work){WORK_ACCEPT, kernel->sockets[number].listener};
    for (uint32_t index = 0; index < kernel->io_count; index++)
        if (kernel->ios[index]->waking || can_signal(kernel, kernel->ios[index]))
            works[count++] = (struct work){WORK_WAKE, kernel->ios[index]};
    for (uint32_t index = 0; index < kernel->disk.file_count; index++)
        if (disk_can_go_on(kernel, &kernel->disk.files[index]))
            works[count++] = (struct work){WORK_FILE, &kernel->disk.files[index]};
    uint32_t most = count + PROGRAMS_A_STEP;
    for (struct program *program = programs_first(kernel); program && count < most; program = program->next)
        if (program_can_go_on(kernel, program))
            works[count++] = (struct work){WORK_PROGRAM, program};
    return count;
}

bool kernel_step(struct kernel *kernel) {
    struct work works[4 * CABLES_MAX + 16 + FILES_MAX + PROGRAMS_A_STEP];
    uint32_t count = find_work(kernel, works);
    if (!count)
        return false;
    if (random_chance(kernel->random, kernel->faults.late))
        return true;
    struct work *work = &works[random_below(kernel->random, count)];
    if (work->kind <= WORK_SEND && random_chance(kernel->random, kernel->faults.reset))
        ((struct cable *)work->object)->reset = true;
    switch (work->kind) {
    case WORK_RECEIVE:
        do_receive(kernel, work->object);
        break;
    case WORK_SEND:
        do_send(kernel, work->object);
        break;
    case WORK_WATCH:
        do_watch(kernel, work->object);
        break;
    case WORK_CONNECT:
        do_connect(kernel, work->object);
        break;
    case WORK_ACCEPT:
        do_accept(kernel, work->object);
        break;
    case WORK_WAKE:
        do_wake(kernel, work->object);
        break;
    case WORK_FILE:
        disk_go_on(kernel, work->object);
        break;
    case WORK_PROGRAM:
        program_go_on(kernel, work->object);
        break;
    }
    return true;
}
