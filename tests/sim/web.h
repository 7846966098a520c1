// Guests that come over HTTP: by WebSocket (sockets.c), by single requests (callers.c), and by a stream of events
// (subscribers.c).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/sim/naive.h"

struct run;
struct guest;

struct queue_bytes {
    uint8_t *bytes;
    size_t at, count, capacity;
};

// State of a guest that speaks WebSocket (sockets.c).
struct socket {
    bool on;
    bool open;       // its handshake has been answered
    bool refused;    // otherwise than by an upgrade
    bool ends;       // it has begun to close
    bool closed;     // it has read a close
    uint16_t code;   // that the hub must close with, because of it
    char fields[80]; // that stand for all that it sends
    int governance;  // likewise
    bool short_timeout, asks_protocol;
    unsigned pings, pongs;
    uint64_t pinged_ns;
    size_t sign_of_life; // how much it has to write when that is all; 0: it isn't
};

// An answer that a guest of HTTP waits for (callers.c).
struct call_due {
    unsigned first, end; // records: what was asked
    uint16_t status;     // 0: as what was asked deserves
    bool is_head, is_fault, is_last;
};
enum { CALLS_MAX = 64 };
struct caller {
    bool on;
    bool closes;  // it has asked its last
    bool refused; // it won't be served any more
    struct call_due due[CALLS_MAX];
    unsigned count;
    uint8_t fields[512]; // of the answer that is read
};

struct subscribing {
    bool on;
    bool open;
    bool refused; // that there be a stream
    struct queue_bytes data;
    uint64_t commented_ns;
};

// --- sockets.c: guests that speak WebSocket

// The guest says that it wants to; with header fields, by chance, that stand for all that it sends.
void sockets_begin(struct run *run, struct guest *guest);
// Writes a message, in fragments, with control frames before and between them.
void sockets_put(struct run *run, struct guest *guest, const void *body, size_t count);
// Reads a message, or something that is none: then its body isn't there.
enum naive_result sockets_read(struct run *run, struct guest *guest, struct naive_frame *frame,
                               const uint8_t *bytes, size_t count);
// Returns whether what it would do next is no more than to read a ping or to answer one.
bool sockets_idle(const struct guest *guest);
// Begins to close.
void sockets_close(struct run *run, struct guest *guest);
// What ends the connection; the begin of something that never ends.
void sockets_junk(struct run *run, struct guest *guest);
void sockets_stall(struct run *run, struct guest *guest);
// Returns whether it had been silent for so long, when it was closed, that it might be.
bool sockets_silent(const struct guest *guest);
// Returns whether it was closed as it came, since the hub had no room to keep what it needs.
bool sockets_turned_away(const struct run *run, const struct guest *guest);
// Judges the end of a connection that the hub alone has ended.
void sockets_end(const struct run *run, const struct guest *guest);
// All has come to rest; nothing more happens before next_ns.
void sockets_rest(const struct run *run);
void sockets_check(const struct run *run, uint64_t next_ns);

// --- callers.c: guests that speak HTTP

// Writes a request with this content, and with these header fields among its own.
void callers_put(struct run *run, struct guest *guest, struct bit fields, const void *body, size_t count);
// Returns whether it waits for as many answers as it may.
bool callers_full(const struct guest *guest);
// Asks for something else than a call, or for what it can't have.
void callers_compose(struct run *run, struct guest *guest);
// What ends the connection; the begin of something that never ends.
void callers_junk(struct run *run, struct guest *guest);
void callers_stall(struct run *run, struct guest *guest);
// Reads an answer, and judges it.
enum naive_result callers_read(struct run *run, struct guest *guest, struct naive_frame *frame,
                               const uint8_t *bytes, size_t count);
// The hub has ended its connection: whether it may.
bool callers_ended(const struct run *run, const struct guest *guest);
// All has come to rest.
void callers_rest(const struct run *run);

// --- subscribers.c: guests that listen to a stream of events

void subscribers_begin(struct run *run, struct guest *guest);
// Reads an event, or something that is none: then its body isn't there.
enum naive_result subscribers_read(const struct run *run, struct guest *guest, struct naive_frame *frame,
                                   const uint8_t *bytes, size_t count);
// Returns whether all that it has to read is a comment.
bool subscribers_idle(const struct guest *guest);
// Nothing more happens before next_ns.
void subscribers_check(const struct run *run, uint64_t next_ns);
