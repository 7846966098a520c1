// The peers' ends of connections: what a client would do with a socket, without waiting.
#include <stdlib.h>
#include <string.h>

#include "tests/sim/kernel.h"

#define SECOND_NS UINT64_C(1000000000)

enum { PIECE_BYTES_MAX = 32 * 1024 };

void queue_add(struct queue *queue, const void *bytes, size_t count) {
    if (count == 0)
        return;
    if (queue->at == queue->end)
        queue->at = queue->end = 0;
    if (queue->end + count > queue->capacity) {
        queue->capacity = (queue->end + count) * 2;
        queue->bytes = realloc(queue->bytes, queue->capacity);
        if (!queue->bytes)
            abort();
    }
    memcpy(queue->bytes + queue->end, bytes, count);
    queue->end += count;
}

size_t queue_take(struct queue *queue, void *out, size_t capacity) {
    size_t count = queue_count(queue) < capacity ? queue_count(queue) : capacity;
    if (count)
        memcpy(out, queue->bytes + queue->at, count);
    queue->at += count;
    return count;
}

static struct cable *create(struct kernel *kernel) {
    struct cable *cable = calloc(1, sizeof *cable);
    if (!cable)
        abort();
    cable->kernel = kernel;
    kernel->cables[kernel->cable_count++] = cable;
    return cable;
}

struct cable *cable_of_program(struct kernel *kernel, int *number) {
    if (kernel->cable_count == CABLES_MAX)
        kernel_fail("out of pipes");
    struct cable *cable = create(kernel);
    *number = kernel_number(kernel, cable);
    cable->local = true;
    return cable;
}

struct cable *cable_of_hub(struct kernel *kernel, int *number) {
    if (kernel->cable_count == CABLES_MAX)
        kernel_fail("out of connections");
    struct cable *cable = create(kernel);
    *number = kernel_number(kernel, cable);
    cable->local = false;
    cable->peer_shut = cable->peer_closed = true;
    return cable;
}

struct cable *cable_dial(struct kernel *kernel, int listener) {
    struct listener_socket *socket = kernel_socket(kernel, listener)->listener;
    if (socket->shut || kernel->cable_count == CABLES_MAX)
        return NULL;
    struct cable *cable = create(kernel);
    if (socket->secure)
        cable->toy = calloc(1, sizeof *cable->toy);
    if (socket->secure && !cable->toy)
        abort();
    socket->backlog[socket->backlog_count++] = cable;
    return cable;
}

void cable_settle(struct cable *cable) {
    struct kernel *kernel = cable->kernel;
    if (!cable->hub_closed || !cable->peer_closed)
        return;
    uint32_t index = 0;
    while (kernel->cables[index] != cable)
        index++;
    kernel->cables[index] = kernel->cables[--kernel->cable_count];
    free(cable->to_hub.bytes);
    free(cable->to_peer.bytes);
    if (cable->toy)
        free(cable->toy->plain.bytes);
    free(cable->toy);
    free(cable);
}

bool cable_write_raw(struct cable *cable, const void *bytes, size_t count) {
    if (cable->hub_closed || cable->reset || cable->peer_shut)
        return false;
    queue_add(&cable->to_hub, bytes, count);
    return true;
}

void cable_record(struct cable *cable, int type, const void *bytes, size_t count) {
    static uint8_t record[TOY_RECORD_BYTES_MAX];
    struct toy_end *toy = cable->toy;
    if (!toy->greeted) {
        toy->greeted = true;
        cable_record(cable, TOY_HELLO, toy->certificate, strlen(toy->certificate));
        cable_record(cable, TOY_DONE, "", 0);
    }
    cable_write_raw(cable, record, toy_seal(&toy->out, (enum toy_type)type, bytes, count, record));
}

// Writes bytes, in records of any length.
bool cable_write(struct cable *cable, const void *bytes, size_t count) {
    if (!cable->toy || cable->hub_closed || cable->reset || cable->peer_shut)
        return cable_write_raw(cable, bytes, count);
    for (size_t at = 0; at < count;) {
        size_t most = random_chance(cable->kernel->random, 500) ? SECURE_RECORD_BYTES_MAX : 64;
        size_t piece = count - at < most ? count - at : most;
        cable_record(cable, TOY_DATA, (const uint8_t *)bytes + at, piece);
        at += piece;
    }
    return true;
}

// A kernel gives room back in steps: a Unix socket once a piece of the sent bytes is read, TCP once its window is worth
// opening again.
static uint32_t step_bytes(const struct cable *cable) {
    uint32_t window = cable->kernel->faults.window_bytes, piece = window / 2;
    return !cable->local ? window / 16 : piece < PIECE_BYTES_MAX ? piece : PIECE_BYTES_MAX;
}

static size_t read_raw(struct cable *cable, void *out, size_t capacity) {
    size_t count = queue_take(&cable->to_peer, out, capacity);
    cable->taken += (uint32_t)count;
    if (count && (cable->taken - cable->shown >= step_bytes(cable) || !queue_count(&cable->to_peer))) {
        cable->shown = cable->taken;
        cable->shown_ns = cable->send.armed ? cable->kernel->now_ns : cable->shown_ns;
    }
    return count;
}

// Bytes of the hub in no good record end the program.
static void open_record(struct toy_end *toy) {
    switch ((enum toy_type)toy->in.record[0]) {
    case TOY_HELLO:
        toy->shaken = true;
        break;
    case TOY_DATA:
        if (!toy->shaken || toy->hub_ended)
            kernel_fail("the hub says something before its handshake, or behind its end");
        queue_add(&toy->plain, toy->in.record + TOY_HEAD_BYTES, toy_count(&toy->in));
        break;
    case TOY_END:
        toy->hub_ended = true;
        break;
    case TOY_ALERT:
        toy->alerted = true;
        break;
    case TOY_TOLD:
        break;
    default:
        kernel_fail("the hub says a record of type %u", toy->in.record[0]);
    }
    toy_next(&toy->in);
}

size_t cable_read(struct cable *cable, void *out, size_t capacity) {
    struct toy_end *toy = cable->toy;
    if (!toy)
        return read_raw(cable, out, capacity);
    uint8_t raw[1024];
    for (size_t count; queue_count(&toy->plain) < capacity && (count = read_raw(cable, raw, sizeof raw));) {
        for (size_t at = 0; at < count;) {
            bool whole, broken;
            at += toy_take(&toy->in, raw + at, count - at, &whole, &broken);
            if (broken)
                kernel_fail("the hub says what is no record");
            if (whole)
                open_record(toy);
        }
    }
    return queue_take(&toy->plain, out, capacity);
}

size_t cable_room(const struct cable *cable) {
    size_t held = queue_count(&cable->to_peer) + (cable->taken - cable->shown);
    size_t most = cable->kernel->faults.window_bytes;
    if (cable->narrow_bytes > 0 && cable->narrow_bytes < most)
        most = cable->narrow_bytes;
    return held < most ? most - held : 0;
}

size_t cable_readable(const struct cable *cable) {
    return queue_count(&cable->to_peer) + (cable->toy ? queue_count(&cable->toy->plain) : 0);
}

bool cable_hub_ended(const struct cable *cable) {
    return !cable->toy || cable->toy->hub_ended;
}

void cable_truncate(struct cable *cable) {
    cable->toy->keeps_end = true;
}

static void say_end(struct cable *cable) {
    struct toy_end *toy = cable->toy;
    if (!toy || toy->ended || toy->keeps_end || cable->reset || cable->peer_shut)
        return;
    cable_record(cable, TOY_END, "", 0);
    toy->ended = true;
}

size_t cable_unread(const struct cable *cable) {
    return queue_count(&cable->to_hub);
}

bool cable_at_end(const struct cable *cable) {
    return !cable_readable(cable) && (cable->hub_closed || cable->hub_shut_write || cable->reset);
}

bool cable_was_reset(const struct cable *cable) {
    return cable->reset;
}

bool cable_hub_closed(const struct cable *cable) {
    return cable->hub_closed;
}

void cable_shut(struct cable *cable) {
    say_end(cable);
    cable->peer_shut = true;
}

void cable_reset(struct cable *cable) {
    cable->reset = true;
}

void cable_of_user(struct cable *cable, uint32_t user) {
    cable->local = cable->placed = true;
    cable->user = user;
}

void cable_of_address(struct cable *cable, uint32_t address) {
    cable->local = false;
    cable->placed = true;
    cable->address = address;
}

void cable_of_certificate(struct cable *cable, const char *certificate) {
    struct toy_end *toy = cable->toy;
    if (toy->greeted || strlen(certificate) >= sizeof toy->certificate)
        kernel_fail("a certificate comes too late, or is too long");
    memcpy(toy->certificate, certificate, strlen(certificate) + 1);
}

void cable_close(struct cable *cable) {
    if (cable_readable(cable))
        cable->reset = true;
    say_end(cable);
    cable->peer_shut = cable->peer_closed = true;
    cable->orphan_until_ns =
        cable->kernel->now_ns + random_below(cable->kernel->random, ORPHAN_S + 1) * SECOND_NS;
    cable_settle(cable);
}

// A TCP peer that is silent is asked every PROBE_S seconds. While its kernel remembers the connection it
// answers though nobody is there; then it resets.
void cable_probe(struct cable *cable) {
    for (; cable->probe_ns && cable->probe_ns <= cable->kernel->now_ns; cable->probe_ns += PROBE_NS)
        if (cable->peer_closed && cable->probe_ns >= cable->orphan_until_ns)
            cable->reset = true;
    if (cable->reset)
        cable->probe_ns = 0;
}

uint64_t kernel_next_ns(const struct kernel *kernel) {
    uint64_t next_ns = programs_next_ns(kernel);
    for (uint32_t index = 0; index < kernel->cable_count; index++) {
        const struct cable *cable = kernel->cables[index];
        if (cable->probe_ns && cable->peer_closed && cable->probe_ns < next_ns)
            next_ns = cable->probe_ns;
    }
    return next_ns;
}
