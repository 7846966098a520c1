// What a hub remembers of requests between hubs, on shard 0: its own at others, others' here.
#pragma once

#include "core/base/hash_table.h"
#include "core/base/list.h"
#include "router/engine/message/remote_mail.h"

struct cluster_member;
struct exchange;
struct nats_subscription;

struct outbound_request {
    union {
        struct hash_node node; // of outbound_requests.by_number
        struct remote_end end; // once it is over, as it travels
    };
    struct list link; // in outbound_requests.untaken, or among what its taker owes
    uint64_t number;
    uint64_t sent_ms;
    struct cluster_member *taker; // the hub that has it; NULL: none has said so yet
    bool is_cancelled;            // its source waits for its answer still
};

struct outbound_requests {
    struct hash_table by_number;
    struct list untaken; // oldest first
    struct freelist spares;
    uint64_t secret; // of the hash
    struct quota *kept;
};

struct inbound_request {
    struct list by_hub;         // among what its hub has asked, or what no hub has
    struct list untold;         // in inbound_requests.untold, until its hub knows that it was taken
    struct hash_node node;      // of inbound_requests.by_number, where a hub asked
    struct exchange *exchange;  // whose answer is its
    struct cluster_member *hub; // that asked; NULL: a client did
    uint64_t number;            // under which it did; 0: a client did
    uint64_t came_ms;
    struct nats_subscription *subscription; // under which it came; NULL: that is gone
    uint32_t reply_bytes;                   // of a client
    char reply[];
};

struct inbound_requests {
    struct hash_table by_number;
    struct list untold; // oldest first
    struct list strays; // of clients
    struct freelist spares;
    uint64_t secret; // of the hash
    struct quota *kept;
};
