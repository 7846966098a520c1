// Events under way: one, or a run of them. A publication belongs to the source's shard. While copies are out,
// the other shards read its constant parts, and each writes to its copy.
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

// One shard's share of it.
struct copy {
    struct mail mail;
    struct publication *publication;
    struct parcel *parcel; // the subscribers' shares have it as their origin; NULL: they miss it
    uint32_t subscribers;  // other than the source
    uint32_t delivered;
    uint32_t shard;
};

struct publication {
    struct publication *next;        // in shard.missed, or shard.reserve
    struct observation *observation; // of one that is observed; or NULL
    const struct user *user;         // whose deliveries are counted; or NULL
    uint64_t fanout;                 // then: by this limit
    uint32_t counted;                // of them, those that are counted already
    uint64_t source;                 // connection; constant
    enum governance required;        // constant
    enum counter missed_as;          // where a copy has no parcel; constant
    bool is_request;
    bool guarded;                    // for those who may approve alone, and not for the source; constant
    const struct user *guarded_from; // and not for this user; constant
    struct presence_change
        *presence;    // whom it tells of: for those who may see that agent; one hold, or NULL; constant
    bool any_name;    // it tells of events of several names: of them all who subscribed to anything hear
    uint32_t awaited; // copies that have not come home
    uint32_t subscribers;
    uint32_t delivered;
    uint32_t copy_count;
    uint32_t bytes; // of memory, as the budget counts them; 0: it is one of the reserve
    struct exchange *exchange;
    char *id; // of a request, behind the copies
    uint32_t id_bytes;
    uint32_t count;  // of events; constant, as all below
    uint32_t *ends;  // of a run's frames, behind the copies; NULL: it is none
    uint32_t *heads; // how long what stands before their bodies is
    uint32_t tail;   // and what stands behind each
    bool canonical;  // they may go out to receivers of frames as they lie
    uint32_t name_bytes;
    char *name; // behind the id
    struct copy copies[];
};
