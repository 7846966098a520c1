// What differs between the protocols that the load generator speaks: how a connection is greeted, and how a
// body is wrapped. All else (connections, bodies, checks, clocks) is shared, so that both sides of a
// comparison cost the generator about the same.
#pragma once

#include "bench/load/body.h"

struct load_greeting {
    const char *at; // the hub's URI, or HOST:PORT
    const struct load_name *name;
    bool is_target;   // it answers under its name; else it asks
    bool plain_inbox; // NATS sources: one reply subject for all requests and not one each
};

struct load_request {
    const struct load_name *source;
    const struct load_name *target;
    uint64_t id;
    uint8_t nonce[LOAD_NONCE_BYTES];
    bool plain_inbox;
};

enum load_step { LOAD_PARTIAL, LOAD_MESSAGE, LOAD_BROKEN };

// A message that lies whole at the start of what was received.
struct load_message {
    size_t bytes;        // of all of it
    const uint8_t *body; // NULL: a control message
    size_t body_bytes;
    const uint8_t *reply_to; // where the answer goes, if the protocol says that beside the body
    size_t reply_to_bytes;
    const char *control_answer; // what a control message must be answered with at once; NULL for nothing
};

struct load_wire {
    // Connects and says who this is, blocking. The socket, or -errno; -EPROTO when the other side refused,
    // which was then told on standard error.
    int (*greet)(const struct load_greeting *greeting);
    // Bytes that a message can have beside its body, at most.
    size_t wrap_bytes_max;
    // Writes a whole message; returns its length.
    size_t (*write_request)(const struct load_body *body, const struct load_request *request, uint8_t *out);
    size_t (*write_answer)(const struct load_body *body, const struct load_message *asked,
                           const struct load_parts *parts, uint8_t *out);
    // Finds the first message. 64 bytes behind `bytes` are readable.
    enum load_step (*next)(const uint8_t *in, size_t bytes, struct load_message *message);
};

extern const struct load_wire load_wire_patchbay;
extern const struct load_wire load_wire_nats;
