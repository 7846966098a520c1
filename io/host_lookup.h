// Looks up one host at a time by the resolver (resolver.h), and keeps the addresses that are to be tried. A struct
// host_lookup belongs to one shard.
//
//     host_lookup_ask ──the answer──▶ host_lookup_take ──▶ host_lookup_address ──failed──▶ host_lookup_advance
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "io/io.h"
#include "io/resolver.h"

enum host_lookup_step {
    HOST_LOOKUP_OPEN,  // there is nothing new
    HOST_LOOKUP_KNOWN, // the answer has come: with an address, or with none (host_lookup_fault)
    HOST_LOOKUP_GONE,  // the resolver has ended: no host can be looked up any more
};

struct host_lookup {
    struct io *io;
    const struct resolver *resolver; // NULL: no host can be looked up
    uint64_t token;                  // of IO_RECEIVED from the resolver
    bool receives;                   // a receive is under way
    bool is_stopped;                 // the receive isn't armed again
    bool asks;                       // the answer to the last question is still to come
    uint32_t number;                 // of the last question
    uint32_t next;                   // of the addresses, the one that is to be tried
    struct resolver_answer answer;   // to the last question; count 0: no address is known
};

// `resolver` may be NULL. The resolver and the io must outlive the lookup.
void host_lookup_init(struct host_lookup *lookup, struct io *io, const struct resolver *resolver,
                      uint64_t token);
// Asks where `host`, of up to RESOLVER_HOST_BYTES_MAX bytes, is, and forgets the addresses before. Returns false, without a
// question, where there is no resolver.
bool host_lookup_ask(struct host_lookup *lookup, const char *host, uint16_t port);
// Takes an IO_RECEIVED event with the lookup's token, whose buffer is dropped. An answer to another question than the last
// one changes nothing.
enum host_lookup_step host_lookup_take(struct host_lookup *lookup, const struct io_event *event);
// Returns the address that is to be tried, of *bytes bytes, or NULL: none is known. The lookup owns the result until the
// addresses are forgotten.
const struct sockaddr *host_lookup_address(const struct host_lookup *lookup, uint32_t *bytes);
// Passes over that address, which has failed. Returns false where there is no further one, and then forgets all.
bool host_lookup_advance(struct host_lookup *lookup);
// Forgets the addresses, and the question whose answer is still to come.
void host_lookup_forget(struct host_lookup *lookup);
// Returns why no address is known: static text.
const char *host_lookup_fault(const struct host_lookup *lookup);
// Ends the receive soon (host_lookup.receives). host_lookup_ask begins another one.
void host_lookup_stop(struct host_lookup *lookup);
