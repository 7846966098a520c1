// What is under way between this hub and others, on shard 0: requests that have gone across, by their hub ids, and those that
// have come, by the subject on which they are to be answered; and both by the hubs that have to do with them. All of it ends
// with the link.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/freelist.h"
#include "core/base/governance.h"
#include "core/base/hash_table.h"
#include "core/base/list.h"
#include "core/base/prefetch.h"
#include "core/base/quota.h"
#include "core/base/siphash.h"
#include "core/cluster/subject.h"
#include "core/json/json.h"
#include "router/features/cluster/cluster_members.h"

struct exchange;
struct nats_subscription;

// What a hub said that doesn't serve a request; and which ones were asked for it, by their places, and the last one of them by its
// name.
struct outbound_refusal {
    uint64_t asked[CLUSTER_MEMBER_WORDS];
    char last[HUB_NAME_BYTES];
    uint32_t count, bytes;
    uint8_t text[];
};

// What few requests need.
struct outbound_request_rest {
    uint64_t denied[CLUSTER_MEMBER_WORDS]; // places of hubs that were asked whether they have it, and don't
    struct outbound_refusal
        *refusal; // of the first hub that was asked, while others are (outbound_retry.h); or NULL
    char *words;  // in which it is to be cancelled; NULL: in the hub's own
    uint32_t words_bytes;
};

// A request of this hub's. Many are under way, so that each lies in no near cache when something is heard of it: what is looked at
// then lies in one line.
struct outbound_request {
    struct hash_node node; // of crossings.out
    struct list link;      // in crossings.untaken or .again, or among what its taker owes
    uint64_t hub_id;
    struct cluster_member *taker;       // the hub that has it; NULL: none has said so yet
    struct outbound_request_rest *rest; // or NULL
    bool unsure : 1;                    // a hub that may have had it has gone before it said so
    bool recalled : 1;                  // it is being taken out of the queue
    bool offered : 1;                   // it may be handed back
    bool returns : 1;                   // where nobody is there for it it is back: what is offered, too
    bool waits : 1;                     // it is in .again
    bool probes : 1;                    // whether anybody is there is asked; what comes of it returns
    bool fenced : 1;                    // it says whom its source may not reach (core/cluster/remote_acl.h)
    bool kept : 1;                      // its source's shard has a copy of it until it is taken
    bool cancelled : 1;                 // its taker is to be told, or has been
    bool is_nobodys : 1;                // and nobody waits for its answer: it ends then
    uint8_t level;                      // enum governance, that is required
    uint8_t kind;                       // enum subject_kind: how whoever is meant is named
    uint32_t token_bytes;
    uint64_t sent_ms;
    char token[]; // the name, as in the subject
};

// A short name takes no more than two lines do.
enum { OUTBOUND_REQUEST_BYTES_MIN = 2 * CACHE_LINE_BYTES };
static_assert(offsetof(struct outbound_request, sent_ms) == CACHE_LINE_BYTES,
              "what is looked at is one line");

// A request of another hub's, or of somebody who speaks to the server without being one.
struct inbound_request {
    struct list link;           // among what its hub has asked; of one that no hub asked, in crossings.strays
    struct hash_node node;      // of crossings.in
    struct exchange *exchange;  // whose answer is its
    uint64_t number;            // of a hub's: the hub id there; else 0
    struct cluster_member *hub; // that asked; NULL: it wasn't one
    struct nats_subscription *present; // the name under which it came; NULL: that is none of those here
    uint32_t reply_bytes;              // 0: it is answered where that hub takes answers, by its number
    char reply[];                      // else where it is
};

struct inflight {
    struct hash_table out, in; // by their hub ids; by where it is answered
    struct siphash_key key;
    uint64_t secret;                // of the hash of hub ids
    struct list untaken, strays;    // oldest first
    struct outbound_request *found; // last, as most is asked twice; or NULL
    struct list again; // requests of which their sources' shards are to send a copy to another hub
    struct cluster_members cluster_members;
    struct freelist out_spares, in_spares; // of those whose names are short, of those without a reply
    struct quota *quota;
};

void inflight_init(struct inflight *inflight, const struct siphash_key *key, struct quota *quota);
// Forgets all of it; visitors' exchanges have none any more.
void inflight_forget(struct inflight *inflight);
// Likewise, and gives back the tables.
void inflight_deinit(struct inflight *inflight);
// Gives back what wasn't needed since the last call.
void inflight_shrink(struct inflight *inflight);

// NULL where the hub has no room to keep one more.
struct outbound_request *inflight_add(struct inflight *inflight, uint64_t hub_id, enum subject_kind kind,
                                      const void *token, uint32_t token_bytes);
struct outbound_request *inflight_find(struct inflight *inflight, uint64_t hub_id);
// The same, where another hub may have it: while it is to go to one (inflight_go_again) none has, whatever is said of it.
struct outbound_request *inflight_find_sent(struct inflight *inflight, uint64_t hub_id);
void inflight_remove(struct inflight *inflight, struct outbound_request *outbound);
// The same, but the crossing is the caller's now, as what the account was asked for.
void inflight_take_out(struct inflight *inflight, struct outbound_request *outbound);
// It is to go to another hub; it has gone there.
void inflight_go_again(struct inflight *inflight, struct outbound_request *outbound);
void inflight_gone_again(struct inflight *inflight, struct outbound_request *outbound, uint64_t now_ms);
void inflight_take(struct outbound_request *outbound, struct cluster_member *taker);
// NULL without memory.
struct outbound_request_rest *inflight_rest(struct inflight *inflight, struct outbound_request *outbound);
static inline struct outbound_refusal *outbound_request_refusal(const struct outbound_request *outbound) {
    return outbound->rest ? outbound->rest->refusal : NULL;
}
static inline char *outbound_request_words(const struct outbound_request *outbound) {
    return outbound->rest ? outbound->rest->words : NULL;
}

// Where the answer to a request goes.
struct reply_address {
    struct cluster_member *hub; // who asks; or NULL
    uint64_t number;            // and under which number; 0: it is no hub
    const uint8_t *reply;
    uint32_t reply_bytes; // 0: where that hub takes answers, by the number
    struct nats_subscription *present;
};
// NULL where somebody is to be answered there already (*is_known), or there is no room.
struct inbound_request *inflight_enter(struct inflight *inflight, struct exchange *exchange,
                                       const struct reply_address *passage, bool *is_known);
// Who asked under this number and is answered where that hub takes answers; NULL: nobody.
struct inbound_request *inflight_visitor(const struct inflight *inflight, const struct cluster_member *hub,
                                         uint64_t number);
void inflight_leave(struct inflight *inflight, struct inbound_request *inbound);
