// The peers' ends of connections: what a client would do with a socket, without waiting.
#include <stdlib.h>
#include <string.h>

#include "tests/sim/kernel.h"

#define SECOND_NS UINT64_C(1000000000)

enum { PIECE_BYTES_MAX = 32 * 1024 };

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

struct cable *cable_dial(struct kernel *kernel, int listener) {
    struct listener_socket *socket = kernel_socket(kernel, listener)->listener;
    if (socket->shut || kernel->cable_count == CABLES_MAX)
        return NULL;
    struct cable *cable = calloc(1, sizeof *cable);
    if (!cable)
        abort();
    cable->kernel = kernel;
    kernel->cables[kernel->cable_count++] = cable;
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
    free(cable);
}

bool cable_write(struct cable *cable, const void *bytes, size_t count) {
    if (cable->hub_closed || cable->reset || cable->peer_shut)
        return false;
    queue_add(&cable->to_hub, bytes, count);
    return true;
}

// A kernel shows in steps what is read: a Unix socket when a piece of what was sent is gone, TCP when its window
// is worth opening again.
static uint32_t step_bytes(const struct cable *cable) {
    uint32_t window = cable->kernel->faults.window_bytes, piece = window / 2;
    return !cable->local ? window / 16 : piece < PIECE_BYTES_MAX ? piece : PIECE_BYTES_MAX;
}

size_t cable_read(struct cable *cable, void *out, size_t capacity) {
    size_t count = queue_take(&cable->to_peer, out, capacity);
    cable->taken += (uint32_t)count;
    if (cable->taken - cable->shown >= step_bytes(cable) || !cable_readable(cable))
        cable->shown = cable->taken;
    return count;
}

size_t cable_room(const struct cable *cable) {
    size_t held = queue_count(&cable->to_peer) + (cable->taken - cable->shown);
    return held < cable->kernel->faults.window_bytes ? cable->kernel->faults.window_bytes - held : 0;
}

size_t cable_readable(const struct cable *cable) {
    return queue_count(&cable->to_peer);
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
    cable->peer_shut = true;
}

void cable_reset(struct cable *cable) {
    cable->reset = true;
}

void cable_close(struct cable *cable) {
    if (cable_readable(cable))
        cable->reset = true;
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
    uint64_t next_ns = UINT64_MAX;
    for (uint32_t index = 0; index < kernel->cable_count; index++) {
        const struct cable *cable = kernel->cables[index];
        if (cable->probe_ns && cable->peer_closed && cable->probe_ns < next_ns)
            next_ns = cable->probe_ns;
    }
    return next_ns;
}
