// Answers to a hub that takes several in one message, put together as the turn goes on. What is said to a server keeps its order:
// they go before anything else does.
#pragma once

#include "core/send/outbox.h"
#include "router/shard/shard.h"
#include "router/transport/neighbours.h"

// Of one link, those to one hub.
struct bundle {
    struct shard *shard;
    struct peer *peer;          // the link's; NULL: it has none
    const char *own;            // this hub's name there
    struct parcel_list answers; // dressed
    size_t bytes;               // of them
    uint32_t inbox_bytes;       // of the hub that they are for, as struct neighbour has it
    char inbox[SUBJECT_INBOX_BYTES_MAX];
};

void bundling_init(struct bundle *bundle, struct shard *shard);
// The link has a peer; `own` stays as long as it has.
void bundling_begin(struct bundle *bundle, struct peer *peer, const char own[HUB_NAME_BYTES]);
// The link is lost, and what was taken with it.
void bundling_forget(struct bundle *bundle);

static inline bool bundling_waits(const struct bundle *bundle) {
    return bundle->answers.first != NULL;
}
// Takes an answer to that hub's request of this number. False: it is to go in a message of its own.
bool bundling_add(struct bundle *bundle, const struct neighbour *hub, uint64_t number, struct parcel *parcel);
// All that have been taken go. Without memory for that the link is lost.
void bundling_flush(struct bundle *bundle);
