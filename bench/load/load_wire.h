// Differences between the protocols of the load generator: the greeting of a connection, and the envelope of
// a body. All else (connections, bodies, checks, clocks) is shared, so that all sides of a comparison cost
// the generator about the same.
#pragma once

#include <openssl/types.h>

#include "bench/load/load_body.h"

enum load_role {
    LOAD_ASKS,       // a source of requests
    LOAD_ANSWERS,    // their target, under its name
    LOAD_PUBLISHES,  // a source of events
    LOAD_SUBSCRIBES, // to the topic of its name
    LOAD_IDLES,      // is greeted, and then is there
};

struct load_greeting {
    const char *at; // the server's URI, or HOST:PORT
    const struct load_name *name;
    enum load_role role;
    SSL **ssl;        // where what is behind the socket goes, of a server that is spoken to over TLS
    bool plain_inbox; // NATS sources: one reply subject for all requests and not one each
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
    const char *name;
    bool is_hub; // spoken by patchbayd, which tells what it counts
    // Targets can't be told apart by a sender: they all bear one name, and the server picks.
    bool server_picks_target;
    // The wire of sources whose targets speak this one; NULL: the same.
    const struct load_wire *sources;
    // Connects and says who this is, blocking; when it returns, the server has taken note of it. The socket,
    // or -errno; -EPROTO when the other side refused, which was then told on standard error.
    int (*greet)(const struct load_greeting *greeting);
    // Bytes that a message can have beside its body, at most.
    size_t wrap_bytes_max;
    // Each writes a whole message and returns its length; NULL: the protocol has no such thing.
    size_t (*write_request)(const struct load_body *body, const struct load_request *request, uint8_t *out);
    size_t (*write_answer)(const struct load_body *body, const struct load_message *asked,
                           const struct load_parts *parts, uint8_t *out);
    size_t (*write_event)(const struct load_body *body, const struct load_event *event, uint8_t *out);
    // Finds the first message. 64 bytes behind `bytes` are readable.
    enum load_step (*next)(const uint8_t *in, size_t bytes, struct load_message *message);
};

extern const struct load_wire load_wire_patchbay; // in frames
extern const struct load_wire load_wire_lines;    // the same in lines
extern const struct load_wire load_wire_websocket;
extern const struct load_wire load_wire_sse; // events alone, published over WebSocket
extern const struct load_wire load_wire_rpc; // requests alone, posted over HTTP, to a hub or another server
extern const struct load_wire load_wire_nats;
extern const struct load_wire load_wire_nats_websocket; // the same lines in its messages
extern const struct load_wire load_wire_nchan;          // over WebSocket
extern const struct load_wire load_wire_nchan_sse;      // to EventSource, published over WebSocket
extern const struct load_wire load_wire_redis;
extern const struct load_wire load_wire_mqtt;
extern const struct load_wire load_wire_relay;

// The protocol of this name; NULL when there is none.
const struct load_wire *load_wire_named(const char *name);
