// Requests to agents at other hubs, or answers to hubs that take several in one message, put together as the turn goes on, those to each by
// themselves. What is said to a server keeps its order: they go before anything else does, and requests before answers that come behind
// them, or the other way about.
#pragma once

#include "core/cluster/bundle.h"
#include "core/send/outbox.h"
#include "router/engine/shard/shard.h"
#include "router/features/cluster/cluster_members.h"

// Those to one hub, or to one agent.
struct bundle {
    struct parcel_list parts;          // dressed
    size_t bytes;                      // of them
    const struct bundle_head *heading; // of requests, whose it is; NULL: these are answers
    uint64_t serial;                   // likewise, by which the link knows them
    uint32_t inbox_bytes; // of answers: of the hub that they are for, as struct cluster_member has it
    char inbox[SUBJECT_INBOX_BYTES_MAX];
};

// Of one link.
struct bundle_queue {
    struct shard *shard;
    struct peer *peer; // the link's; NULL: it has none
    const char *own;   // this hub's name there
    uint32_t count;    // of bundles, none of which is empty, and all of which are of requests, or of answers
    uint64_t serials;  // of bundles of requests, that were given under this link
    struct bundle all[BUNDLES_MAX];
};

void bundle_queue_init(struct bundle_queue *bundle_queue, struct shard *shard);
// The link has a peer; `own` stays as long as it has.
void bundle_queue_begin(struct bundle_queue *bundle_queue, struct peer *peer, const char own[HUB_NAME_BYTES]);
// The link is lost, and what was taken with it.
void bundle_queue_forget(struct bundle_queue *bundle_queue);

static inline bool bundle_queue_waits(const struct bundle_queue *bundle_queue) {
    return bundle_queue->count > 0;
}
// Takes an answer to that hub's request of this number. False: it is to go in a message of its own.
bool bundle_queue_add(struct bundle_queue *bundle_queue, const struct cluster_member *hub, uint64_t number,
                      struct parcel *parcel);
// Takes a request that has a heading; returns the serial of those with which it goes.
uint64_t bundle_queue_ask(struct bundle_queue *bundle_queue, struct parcel *parcel);
// All that have been taken go. Without memory for that the link is lost.
void bundle_queue_flush(struct bundle_queue *bundle_queue);
