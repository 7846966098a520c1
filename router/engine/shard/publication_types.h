// Events under way to subscribers. A publication is one event, or a run of events that came together. It belongs to the
// source's shard. While copies are out, the other shards read the constant fields, and each shard writes to its own
// copy.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/base/governance.h"
#include "core/base/list.h"
#include "router/engine/shard/stats.h"

struct exchange;
struct parcel;
struct presence_change;
struct observation;
struct user;

// The part of a publication for one shard.
struct publication_copy {
    struct mail mail;
    struct publication *publication;
    // The original of the subscribers' parcels; NULL: there was no memory, and the subscribers miss the event
    struct parcel *parcel;
    uint32_t subscribers; // of this shard, without the source
    uint32_t delivered;
    uint32_t shard;
};

struct publication {
    struct publication *next;        // in shard.missed, or shard.reserve
    struct observation *observation; // of an event that is observed; or NULL
    const struct user *user;         // the user whose limit counts the deliveries; or NULL
    uint64_t fanout;                 // with `user`: that limit
    uint32_t counted;                // with `user`: deliveries that are counted already
    uint64_t source;                 // the source's connection; constant
    enum governance required;        // constant
    enum counter missed_as;          // counts the deliveries of a copy without a parcel; constant
    bool is_request;
    // Goes to users with the right to approve alone, and not to the source; constant
    bool guarded;
    const struct user *guarded_from; // with `guarded`: goes not to this user; constant
    // Of an event about an agent, which goes to peers that may see the agent; one reference, or NULL; constant.
    struct presence_change *presence;
    bool any_name;    // reports events of several names, and so goes to every subscriber of any event
    uint32_t awaited; // copies that have not come back
    uint32_t subscribers;
    uint32_t delivered;
    uint32_t copy_count;
    uint32_t bytes; // memory of the publication in the budget; 0: one of shard.reserve
    struct exchange *exchange;
    char *id; // of a request that publishes; in the memory behind the copies
    uint32_t id_bytes;
    uint32_t count;  // events of the run; constant, as all fields below
    uint32_t *ends;  // [count] where each frame ends; in the memory behind the copies; NULL: no run
    uint32_t *heads; // [count] bytes of each frame before its body
    uint32_t tail;   // bytes of each frame behind its body
    bool canonical;  // the frames may go to receivers of frames unchanged
    uint32_t name_bytes;
    char *name; // of the event; in the memory behind the id
    struct publication_copy copies[];
};
