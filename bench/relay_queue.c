// See relay_queue.h. Success: a half becomes one gathering send. Failure: without memory the block is
// not taken.
#include "bench/relay_queue.h"

#include <stdlib.h>
#include <string.h>

bool relay_queue_copy(struct relay_queue *queue, const uint8_t *from, size_t bytes) {
    struct bytes *copied = &queue->half[queue->filling].copied;
    if (!bytes_room(copied, bytes)) {
        return false;
    }
    memcpy(copied->at + copied->count, from, bytes);
    copied->count += bytes;
    return true;
}

static bool more_vectors(struct relay_half *half) {
    size_t capacity = half->capacity * 2 + 16;
    struct iovec *vectors = realloc(half->vectors, capacity * sizeof *vectors);
    half->vectors = vectors != NULL ? vectors : half->vectors;
    struct buffer **buffers = realloc(half->buffers, capacity * sizeof *buffers);
    half->buffers = buffers != NULL ? buffers : half->buffers;
    if (vectors == NULL || buffers == NULL) {
        return false;
    }
    half->capacity = capacity;
    return true;
}

bool relay_queue_lend(struct relay_queue *queue, struct buffer *buffer, uint8_t *from, size_t bytes) {
    struct relay_half *half = &queue->half[queue->filling];
    struct iovec *last = half->count > 0 ? &half->vectors[half->count - 1] : NULL;
    if (last != NULL && buffer != NULL && half->buffers[half->count - 1] == buffer &&
        (uint8_t *)last->iov_base + last->iov_len == from) {
        last->iov_len += bytes;
        return true;
    }
    if (half->count == half->capacity && !more_vectors(half)) {
        return false;
    }
    if (buffer != NULL) {
        buffer_hold(buffer);
    }
    half->vectors[half->count] = (struct iovec){.iov_base = from, .iov_len = bytes};
    half->buffers[half->count++] = buffer;
    return true;
}

static void send_rest(struct relay_half *half, struct io *io, int socket, uint64_t token) {
    size_t left = half->count - half->done;
    io_send(io, socket, token, half->vectors + half->done,
            left < IO_VECTORS_MAX ? (unsigned)left : IO_VECTORS_MAX);
}

bool relay_queue_send(struct relay_queue *queue, struct io *io, int socket, uint64_t token) {
    struct relay_half *half = &queue->half[queue->filling];
    if (queue->sending || (half->count == 0 && half->copied.count == 0)) {
        return false;
    }
    if (half->copied.count > 0 && !relay_queue_lend(queue, NULL, half->copied.at, half->copied.count)) {
        return false;
    }
    queue->sending = true;
    queue->filling = !queue->filling;
    send_rest(half, io, socket, token);
    return true;
}

static void clear(struct relay_half *half) {
    for (size_t index = half->done; index < half->count; index++) {
        buffer_drop(half->buffers[index]);
    }
    half->count = half->done = half->copied.count = 0;
}

void relay_queue_sent(struct relay_queue *queue, struct io *io, int socket, uint64_t token, size_t bytes) {
    struct relay_half *half = &queue->half[!queue->filling];
    for (; half->done < half->count && bytes >= half->vectors[half->done].iov_len; half->done++) {
        bytes -= half->vectors[half->done].iov_len;
        buffer_drop(half->buffers[half->done]);
    }
    if (half->done < half->count) {
        struct iovec *cut = &half->vectors[half->done];
        cut->iov_base = (uint8_t *)cut->iov_base + bytes;
        cut->iov_len -= bytes;
        send_rest(half, io, socket, token);
        return;
    }
    clear(half);
    queue->sending = false;
}

void relay_queue_clear(struct relay_queue *queue) {
    queue->sending = false;
    clear(&queue->half[0]);
    clear(&queue->half[1]);
}
