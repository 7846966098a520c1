// Blocks that wait at one socket of the relay to be sent: two halves, of which one is filled while the kernel
// sends the other. There is one send a socket at a time and a turn.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bench/load/load_connection.h"

struct relay_half {
    struct bytes copied;     // small blocks, one behind the other
    struct iovec *vectors;   // large ones where they lie
    struct buffer **buffers; // that a vector's bytes lie in; NULL: in none
    size_t count, capacity, done;
};

struct relay_queue {
    struct relay_half half[2];
    uint8_t filling;
    bool sending;
};

// Both leave the queue as it was and are false when memory is used up.
bool relay_queue_copy(struct relay_queue *queue, const uint8_t *from, size_t bytes);
// Takes a reference to the buffer of its own, except where the bytes go on where the last ones ended.
bool relay_queue_lend(struct relay_queue *queue, struct buffer *buffer, uint8_t *from, size_t bytes);

// Sends what waits; false when there is nothing, or a send is under way.
bool relay_queue_send(struct relay_queue *queue, struct io *io, int socket, uint64_t token);
// Notes how many bytes were sent; what is left of them is sent at once.
void relay_queue_sent(struct relay_queue *queue, struct io *io, int socket, uint64_t token, size_t bytes);
// Forgets what waits and gives its buffers back. No send may be under way.
void relay_queue_clear(struct relay_queue *queue);
