// The load through a blind relay: the hub's own bodies in blocks of one size. The relay sends each block to a
// target of its choice and the answers back in the order in which that target got them, so every answer can
// be checked. Success: blocks arrive whole, one behind the other. Failure: a body that doesn't fit, or
// lengths that are none.
#include <errno.h>
#include <string.h>

#include "bench/load/load_dial.h"
#include "bench/load/load_relay.h"
#include "bench/load/load_wire.h"

enum { LENGTHS_BYTES = 8 };

static int greet(const struct load_greeting *greeting) {
    int dialled = load_dial(greeting->at);
    if (dialled < 0) {
        return dialled;
    }
    char side = greeting->role == LOAD_ANSWERS ? RELAY_TARGET : RELAY_SOURCE, echo = 0;
    int error = load_say(dialled, &side, 1);
    if (error == 0) {
        error = load_hear(dialled, &echo, 1);
    }
    return load_greeted(dialled, error < 0 ? error : echo == side ? 0 : -EPROTO);
}

// The block around a body of `bytes` that was written behind its lengths.
static size_t finish(const struct load_body *body, size_t bytes, uint8_t *out) {
    uint32_t lengths[2] = {body->bytes + RELAY_WRAP_BYTES, (uint32_t)bytes};
    memcpy(out, lengths, LENGTHS_BYTES);
    if (LENGTHS_BYTES + bytes < lengths[0]) {
        memset(out + LENGTHS_BYTES + bytes, 0, lengths[0] - LENGTHS_BYTES - bytes);
    }
    return lengths[0];
}

static size_t write_request(const struct load_body *body, const struct load_request *request, uint8_t *out) {
    load_request_write(body, request, out + LENGTHS_BYTES);
    return finish(body, load_request_bytes(body, request), out);
}

static size_t write_answer(const struct load_body *body, const struct load_message *asked,
                           const struct load_parts *parts, uint8_t *out) {
    (void)asked;
    load_answer_write(body, parts, out + LENGTHS_BYTES);
    return finish(body, load_answer_bytes(body, parts->id_bytes), out);
}

static enum load_step next(const uint8_t *in, size_t bytes, struct load_message *message) {
    uint32_t lengths[2];
    if (bytes < LENGTHS_BYTES) {
        return LOAD_PARTIAL;
    }
    memcpy(lengths, in, LENGTHS_BYTES);
    if (lengths[0] < LENGTHS_BYTES || lengths[1] > lengths[0] - LENGTHS_BYTES) {
        return LOAD_BROKEN;
    }
    *message =
        (struct load_message){.bytes = lengths[0], .body = in + LENGTHS_BYTES, .body_bytes = lengths[1]};
    return lengths[0] <= bytes ? LOAD_MESSAGE : LOAD_PARTIAL;
}

const struct load_wire load_wire_relay = {
    .name = "relay",
    .server_picks_target = true,
    .greet = greet,
    .wrap_bytes_max = RELAY_WRAP_BYTES,
    .write_request = write_request,
    .write_answer = write_answer,
    .next = next,
};
