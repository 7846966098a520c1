// The peers' ends of connections: what a client would do with a socket, without waiting.
#include <stdlib.h>
#include <string.h>

#include "tests/sim/kernel.h"

#define SECOND_NS UINT64_C(1000000000)

void queue_add(struct queue *queue, const void *bytes, size_t count) {
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

struct wire *wire_dial(struct kernel *kernel, int listener) {
    struct listener_socket *socket = kernel_socket(kernel, listener)->listener;
    if (socket->shut || kernel->wire_count == WIRES_MAX)
        return NULL;
    struct wire *wire = calloc(1, sizeof *wire);
    if (!wire)
        abort();
    wire->kernel = kernel;
    kernel->wires[kernel->wire_count++] = wire;
    socket->backlog[socket->backlog_count++] = wire;
    return wire;
}

void wire_settle(struct wire *wire) {
    struct kernel *kernel = wire->kernel;
    if (!wire->hub_closed || !wire->peer_closed)
        return;
    uint32_t index = 0;
    while (kernel->wires[index] != wire)
        index++;
    kernel->wires[index] = kernel->wires[--kernel->wire_count];
    free(wire->to_hub.bytes);
    free(wire->to_peer.bytes);
    free(wire);
}

bool wire_write(struct wire *wire, const void *bytes, size_t count) {
    if (wire->hub_closed || wire->reset || wire->peer_shut)
        return false;
    queue_add(&wire->to_hub, bytes, count);
    return true;
}

size_t wire_read(struct wire *wire, void *out, size_t capacity) {
    size_t count = queue_take(&wire->to_peer, out, capacity);
    wire->taken += (uint32_t)count;
    return count;
}

size_t wire_readable(const struct wire *wire) {
    return queue_count(&wire->to_peer);
}

size_t wire_unread(const struct wire *wire) {
    return queue_count(&wire->to_hub);
}

bool wire_at_end(const struct wire *wire) {
    return !wire_readable(wire) && (wire->hub_closed || wire->hub_shut_write || wire->reset);
}

bool wire_was_reset(const struct wire *wire) {
    return wire->reset;
}

bool wire_hub_closed(const struct wire *wire) {
    return wire->hub_closed;
}

void wire_shut(struct wire *wire) {
    wire->peer_shut = true;
}

void wire_reset(struct wire *wire) {
    wire->reset = true;
}

void wire_close(struct wire *wire) {
    if (wire_readable(wire))
        wire->reset = true;
    wire->peer_shut = wire->peer_closed = true;
    wire->orphan_until_ns =
        wire->kernel->now_ns + random_below(wire->kernel->random, ORPHAN_S + 1) * SECOND_NS;
    wire_settle(wire);
}

// A TCP peer that is silent is asked every PROBE_S seconds. While its kernel remembers the connection it
// answers though nobody is there; then it resets.
void wire_probe(struct wire *wire) {
    for (; wire->probe_ns && wire->probe_ns <= wire->kernel->now_ns; wire->probe_ns += PROBE_NS)
        if (wire->peer_closed && wire->probe_ns >= wire->orphan_until_ns)
            wire->reset = true;
    if (wire->reset)
        wire->probe_ns = 0;
}

uint64_t kernel_next_ns(const struct kernel *kernel) {
    uint64_t next_ns = UINT64_MAX;
    for (uint32_t index = 0; index < kernel->wire_count; index++) {
        const struct wire *wire = kernel->wires[index];
        if (wire->probe_ns && wire->peer_closed && wire->probe_ns < next_ns)
            next_ns = wire->probe_ns;
    }
    return next_ns;
}
