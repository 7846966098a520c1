// The part of a secure connection that doesn't depend on the cipher: arrivals that wait to be opened, the cipher's own
// messages, sealed parts, and their memory.
//
// Success: an arrival is opened where it lies, without a copy. A send_op is sealed in parts, each when the socket has
// taken the part before. Failure: bytes can't be opened, a peer makes the cipher send more than the peer reads, or
// memory is used up. Then the connection is broken for good.
#include "io/secure.h"

#include <assert.h>
#include <string.h>

#include "core/base/memory.h"

enum { CHARGE_STEP_BYTES = 4 * 1024 };

// --- Sources

struct secure_source *secure_source_hold(struct secure_source *source) {
    atomic_fetch_add_explicit(&source->references, 1, memory_order_relaxed);
    return source;
}

void secure_source_drop(struct secure_source *source) {
    if (source && atomic_fetch_sub_explicit(&source->references, 1, memory_order_acq_rel) == 1)
        source->cipher->destroy_source(source);
}

// --- Memory

static void break_off(struct secure *secure, bool out_of_memory) {
    secure->broken = true;
    secure->out_of_memory |= out_of_memory;
}

// Adjusts the budget to the memory in use, in steps. If the budget refuses, the connection breaks. The memory is in use
// already, so that an alert can be sent.
static void charge(struct secure *secure) {
    uint64_t used = secure->memory > 0 ? (uint64_t)secure->memory : 0;
    uint64_t wanted = (used + CHARGE_STEP_BYTES - 1) / CHARGE_STEP_BYTES * CHARGE_STEP_BYTES;
    if (wanted > secure->charged) {
        if (!buffer_budget_take(secure->pool->budget, wanted - secure->charged, BUDGET_PART)) {
            break_off(secure, true);
            return;
        }
    } else {
        buffer_budget_give(secure->pool->budget, secure->charged - wanted);
    }
    secure->charged = wanted;
}

// Appends bytes to memory that grows with each arrival or record. Returns false beyond `max`, or without memory.
static bool append(struct secure *secure, uint8_t **to, uint32_t *length, const void *bytes, size_t count,
                   uint32_t max) {
    uint8_t *grown = count <= max - *length ? memory_resize(*to, *length + count) : NULL;
    if (!grown)
        return false;
    memcpy(grown + *length, bytes, count);
    *to = grown;
    *length += (uint32_t)count;
    secure->memory += (int64_t)count;
    return true;
}

static void forget(struct secure *secure, uint8_t **bytes, uint32_t *length) {
    memory_give(*bytes);
    secure->memory -= *length;
    *bytes = NULL;
    *length = 0;
}

struct secure *secure_create(struct secure_source *source, struct buffer_pool *pool) {
    struct secure *secure = source->cipher->make(source);
    if (!secure)
        return NULL;
    secure->cipher = source->cipher;
    secure->source = secure_source_hold(source);
    secure->pool = pool;
    secure->record_bytes_max = SECURE_RECORD_BYTES_MAX;
    charge(secure);
    if (!secure->broken)
        return secure;
    secure_destroy(secure);
    return NULL;
}

void secure_destroy(struct secure *secure) {
    struct secure_source *source = secure->source;
    assert(!secure->plain && !secure->sealing);
    buffer_drop(secure->arrival);
    forget(secure, &secure->deferred, &secure->deferred_bytes);
    forget(secure, &secure->output, &secure->output_bytes);
    buffer_budget_give(secure->pool->budget, secure->charged);
    secure->cipher->destroy(secure);
    secure_source_drop(source);
}

// --- Opening

void secure_greet(struct secure *secure, const char *server) {
    struct secure_input nothing = {0};
    size_t count = 0;
    assert(!secure->server && server && !secure->established);
    secure->server = server;
    if (secure->cipher->open(secure, &nothing, NULL, 0, &count) != SECURE_MORE)
        break_off(secure, false);
    charge(secure);
}

void secure_send(struct secure *secure, const void *bytes, size_t count) {
    bool said = secure->sealing ? send_op_copy(secure->sealing, secure->stage, bytes, count)
                                : append(secure, &secure->output, &secure->output_bytes, bytes, count,
                                         SECURE_OUTPUT_BYTES_MAX);
    if (!said)
        break_off(secure, true);
}

uint8_t *secure_place(struct secure *secure, size_t count) {
    uint8_t *place = send_op_place(secure->sealing, secure->stage, count);
    if (!place)
        break_off(secure, true);
    return place;
}

const uint8_t *secure_whole(const struct secure *secure, const struct iovec *parts, unsigned count,
                            size_t *bytes) {
    *bytes = parts->iov_len;
    if (count == 1)
        return parts->iov_base;
    *bytes = 0;
    for (unsigned index = 0; index < count; index++) {
        memcpy(secure->scratch + *bytes, parts[index].iov_base, parts[index].iov_len);
        *bytes += parts[index].iov_len;
    }
    return secure->scratch;
}

void secure_receive(struct secure *secure, struct buffer *buffer, uint32_t count) {
    assert(!secure->arrival);
    if (secure->broken || secure->peer_finished)
        return;
    buffer_hold(buffer);
    secure->arrival = buffer;
    secure->input = (struct secure_input){.bytes = buffer_arrival(buffer), .count = count};
    if (secure->deferred)
        secure_put_off(secure);
}

void secure_put_off(struct secure *secure) {
    if (!secure->arrival)
        return;
    if (secure->input.count && !append(secure, &secure->deferred, &secure->deferred_bytes,
                                       secure->input.bytes, secure->input.count, SECURE_DEFERRED_BYTES_MAX))
        break_off(secure, true);
    buffer_drop(secure->arrival);
    secure->arrival = NULL;
    secure->input = (struct secure_input){0};
    charge(secure);
}

static void let_go(struct secure *secure) {
    buffer_drop(secure->arrival);
    secure->arrival = NULL;
    forget(secure, &secure->deferred, &secure->deferred_bytes);
    secure->input = (struct secure_input){0};
}

enum secure_result secure_open(struct secure *secure, uint8_t *out, size_t room, size_t *count) {
    *count = 0;
    if (!secure->arrival && secure->deferred && !secure->input.bytes)
        secure->input = (struct secure_input){.bytes = secure->deferred, .count = secure->deferred_bytes};
    if (secure->broken || secure->peer_finished || (!secure->arrival && !secure->deferred)) {
        let_go(secure);
        return SECURE_MORE;
    }
    enum secure_result result = secure->cipher->open(secure, &secure->input, out, room, count);
    secure->established |= result == SECURE_SHAKEN;
    secure->peer_finished |= result == SECURE_END;
    if (result == SECURE_BROKEN)
        secure->broken = true;
    if (result == SECURE_MORE || result == SECURE_END || secure->broken)
        let_go(secure);
    charge(secure);
    return secure->broken ? SECURE_BROKEN : result;
}

// --- Sealing

static bool has_room(const struct send_op *sealed) {
    return sealed->bytes + SECURE_SEALED_BYTES_MAX <= SECURE_AHEAD_BYTES_MAX &&
           sealed->count < SEND_VECTORS_MAX;
}

// Returns the plaintext bytes of the next record: at most record_bytes_max. Without scratch memory, only the bytes of
// one vector.
static size_t next_bytes(const struct secure *secure) {
    const struct send_op *plain = secure->plain;
    size_t most = secure->scratch ? plain->bytes : plain->vectors[plain->first].iov_len;
    return most < secure->record_bytes_max ? most : secure->record_bytes_max;
}

static void seal_parts(struct secure *secure) {
    struct send_op *plain = secure->plain;
    while (plain->bytes && has_room(secure->sealing) && !secure->broken) {
        size_t bytes = next_bytes(secure);
        unsigned count = send_op_part(plain, bytes);
        if (!secure->cipher->seal(secure, plain->vectors + plain->first, count))
            break_off(secure, false);
        send_op_advance(plain, bytes);
    }
}

// Puts the cipher's own messages into the send_op, in pieces that fit a stage.
static void seal_output(struct secure *secure) {
    uint8_t *said = secure->output;
    uint32_t bytes = secure->output_bytes;
    secure->output = NULL;
    secure->output_bytes = 0;
    for (uint32_t at = 0; at < bytes;) {
        uint32_t count = bytes - at < SECURE_RECORD_BYTES_MAX ? bytes - at : SECURE_RECORD_BYTES_MAX;
        secure_send(secure, said + at, count);
        at += count;
    }
    forget(secure, &said, &bytes);
}

bool secure_seal(struct secure *secure, struct send_op *sealed, struct stage *stage, uint8_t *scratch) {
    bool was_broken = secure->broken; // an alert is sent nevertheless
    secure->sealing = sealed;
    secure->stage = stage;
    secure->scratch = scratch;
    send_op_begin(sealed);
    seal_output(secure);
    if (secure->plain && !secure->broken)
        seal_parts(secure);
    secure->sealing = NULL;
    secure->stage = NULL;
    secure->scratch = NULL;
    charge(secure);
    return sealed->bytes && secure->broken == was_broken;
}

void secure_finish(struct secure *secure) {
    if (!secure->established || secure->finished || secure->broken)
        return;
    secure->finished = true;
    secure->cipher->finish(secure);
    charge(secure);
}
