// Requests to agents at other hubs, or answers to hubs that take several in one message, put together as the turn goes on, those to each by
// themselves. What is said to a server keeps its order: they go before anything else does, and requests before answers that come behind
// them, or the other way about.
#pragma once

#include "core/cluster/bundle.h"
#include "core/send/outbox.h"
#include "router/engine/shard/shard.h"
#include "router/transport/neighbours.h"

// Those to one hub, or to one agent.
struct bundle {
    struct parcel_list parts;          // dressed
    size_t bytes;                      // of them
    const struct bundle_head *heading; // of requests, whose it is; NULL: these are answers
    uint64_t serial;                   // likewise, by which the link knows them
    uint32_t inbox_bytes;              // of answers: of the hub that they are for, as struct neighbour has it
    char inbox[SUBJECT_INBOX_BYTES_MAX];
};

// Of one link.
struct bundling {
    struct shard *shard;
    struct peer *peer; // the link's; NULL: it has none
    const char *own;   // this hub's name there
    uint32_t count;    // of bundles, none of which is empty, and all of which are of requests, or of answers
    uint64_t serials;  // of bundles of requests, that were given under this link
    struct bundle all[BUNDLES_MAX];
};

void bundling_init(struct bundling *bundling, struct shard *shard);
// The link has a peer; `own` stays as long as it has.
void bundling_begin(struct bundling *bundling, struct peer *peer, const char own[HUB_NAME_BYTES]);
// The link is lost, and what was taken with it.
void bundling_forget(struct bundling *bundling);

static inline bool bundling_waits(const struct bundling *bundling) {
    return bundling->count > 0;
}
// Takes an answer to that hub's request of this number. False: it is to go in a message of its own.
bool bundling_add(struct bundling *bundling, const struct neighbour *hub, uint64_t number,
                  struct parcel *parcel);
// Takes a request that has a heading; returns the serial of those with which it goes.
uint64_t bundling_ask(struct bundling *bundling, struct parcel *parcel);
// All that have been taken go. Without memory for that the link is lost.
void bundling_flush(struct bundling *bundling);
