// Messages behind a notification that is a fallback (fallback.h) wait until that is settled, so that the
// connection's order is kept. Arrivals wait by themselves (engine/turn/read_fairness.c). This queue is for
// messages that came in one arrival with it, or in one batch.
#pragma once

#include "core/rights/digest.h"
#include "core/send/parcel.h"
#include "router/engine/shard/credential.h"
#include "router/engine/shard/peer.h"

struct exchange;

struct stalled_unit {
    struct list link; // in annex.stalled
    struct unit unit;
    struct frame frame;        // of its unit; one reference on its buffer
    struct exchange *exchange; // for which one more answer is due as long as it waits; or NULL
    bool is_member;            // of a batch
    const struct user *user;   // of HTTP, who has sent it and by which credential; else NULL
    enum credential kind;
    struct digest digest;
};

// Keeps a frame of a peer that is stalled. Without memory the peer is closed.
void stall_queue_keep(struct shard *shard, struct peer *peer, const struct frame *frame,
                      struct exchange *exchange, bool is_member);
// The oldest, which the caller gives back with stall_queue_end; NULL: there is none.
struct stalled_unit *stall_queue_take(struct peer *peer);
// Whether something waits for which an answer is due there.
bool stall_queue_has(const struct peer *peer, const struct exchange *exchange);
// All of it has been routed, or won't be.
void stall_queue_end(struct shard *shard, struct stalled_unit *stalled);
// The peer goes, and with it what waits.
void stall_queue_leave(struct shard *shard, struct peer *peer);
