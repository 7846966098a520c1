// Looks up one host at a time by the resolver (resolver.h), and keeps the addresses that are still to be tried. A
// struct host_lookup belongs to one shard.
//
//     host_lookup_ask ──the answer──▶ host_lookup_take ──▶ host_lookup_address ──failed──▶ host_lookup_advance
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "io/io.h"
#include "io/resolver.h"

enum host_lookup_step {
    HOST_LOOKUP_OPEN,  // no news
    HOST_LOOKUP_KNOWN, // the answer has come; with no address, host_lookup_fault says why
    HOST_LOOKUP_GONE,  // the resolver has ended: no host can be looked up any more
};

struct host_lookup {
    struct io *io;
    const struct resolver *resolver; // NULL: no host can be looked up
    uint64_t token;                  // of the IO_RECEIVED events from the resolver
    bool receives;                   // a receive is under way
    bool is_stopped;                 // the receive must not be armed again
    bool asks;                       // the answer to the last question hasn't come
    uint32_t number;                 // the last question's number
    uint32_t next;                   // index in answer.addresses of the address to be tried
    struct resolver_answer answer;   // the answer to the last question; count 0: no address is known
};

// Makes a lookup. `resolver` may be NULL. The resolver and the io must outlive the lookup.
void host_lookup_init(struct host_lookup *lookup, struct io *io, const struct resolver *resolver,
                      uint64_t token);
// Asks for the addresses of `host` (up to RESOLVER_HOST_BYTES_MAX bytes), and forgets the addresses before. Returns
// false without a resolver.
bool host_lookup_ask(struct host_lookup *lookup, const char *host, uint16_t port);
// Handles an IO_RECEIVED event with the lookup's token, and drops the event's buffer. Ignores an answer to any question
// but the last.
enum host_lookup_step host_lookup_take(struct host_lookup *lookup, const struct io_event *event);
// Returns the address to be tried, and its length in *bytes; or NULL if no address is known. The lookup owns the result
// until the addresses are forgotten.
const struct sockaddr *host_lookup_address(const struct host_lookup *lookup, uint32_t *bytes);
// Goes on to the next address, because the present address has failed. Returns false without a next address, and then
// forgets all addresses.
bool host_lookup_advance(struct host_lookup *lookup);
// Forgets the addresses, and the question that isn't answered yet.
void host_lookup_forget(struct host_lookup *lookup);
// Returns why no address is known, as static text.
const char *host_lookup_fault(const struct host_lookup *lookup);
// Ends the receive soon. host_lookup.receives is false after the receive's end. host_lookup_ask begins another receive.
void host_lookup_stop(struct host_lookup *lookup);
