// Where a server is that is known by its name: asked of the resolver (io/resolver.h), each time anew.
#pragma once

#include "core/cluster/nats_server.h"
#include "io/io.h"
#include "io/resolver.h"

// Kinds of the cluster's own tokens and timers (FEATURE_TOKEN, FEATURE_KIND).
enum {
    CLUSTER_TOKEN_LINK, // the link's socket, until it is a peer's
    CLUSTER_TOKEN_RESOLVER
};
enum { CLUSTER_TIMER_LINK };

struct link_resolver {
    const struct resolver *resolver; // NULL: names aren't looked up
    bool is_heard;                   // what it says is received
    uint32_t number;                 // of what was asked last
    uint32_t next;                   // of the addresses
    struct resolver_answer answer;   // its addresses stay as long as they are dialled; count 0: there is none
};

// Asks. False where nobody is there to be asked.
bool link_resolver_ask(struct link_resolver *resolving, struct io *io, const struct nats_url *url);
// IO_RECEIVED with CLUSTER_TOKEN_RESOLVER, whose buffer is dropped. True: the answer to what was asked last has come.
bool link_resolver_hear(struct link_resolver *resolving, struct io *io, const struct io_event *event);
// Forgets what was answered, and what may come.
void link_resolver_forget(struct link_resolver *resolving);
// It isn't asked any more, and heard no more soon.
void link_resolver_stop(struct link_resolver *resolving, struct io *io);
