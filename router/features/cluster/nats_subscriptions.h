// The subscriptions at the server for this hub's agents. Each name has one queue subscription a member, up to a bound,
// so that the server chooses hubs in proportion to their members. On shard 0. The table follows the registry and
// doesn't use the link.
#pragma once

#include "core/agents/agents.h"
#include "core/base/text.h"
#include "core/cluster/subject.h"

enum { NATS_SUBSCRIPTIONS_PER_NAME_MAX = 64, NATS_RECENT = 64 };

// A subject under which agents of this hub can be asked.
struct nats_subscription {
    struct list link;
    uint32_t members, subscriptions;
    uint32_t sids[NATS_SUBSCRIPTIONS_PER_NAME_MAX]; // ids of the subscriptions
    enum subject_kind kind;
    uint64_t requests, errors, took_ms; // answered requests, errors among them, and the sum of their times
    uint32_t bytes, token_at;           // of the subject; where the name begins in it
    uint32_t unanswered;                // requests under this subject that aren't answered yet
    bool is_gone;                       // no agent has the name any more; freed when `unanswered` is 0
    char subject[];
};

struct nats_subscriptions {
    struct name_map by_subject; // subjects; NULL: no agent here has the name
    // Subscriptions that messages came under, and their ids, at the id modulo NATS_RECENT; id 0: none
    struct nats_subscription *recent[NATS_RECENT];
    uint64_t recent_sids[NATS_RECENT];
    struct list all;  // struct nats_subscription.link
    uint64_t changes; // agents.changes that the subscriptions follow
    uint32_t sids;    // the last id that was used
    bool is_behind;   // memory ran out: the next turn tries again
    struct quota *quota;
};

void nats_subscriptions_init(struct nats_subscriptions *presence, const struct siphash_key *key,
                             struct quota *quota);
// Forgets all subscriptions, because the link is lost.
void nats_subscriptions_forget(struct nats_subscriptions *presence);
void nats_subscriptions_deinit(struct nats_subscriptions *presence);
// The names' subjects: in a cluster, under its REALM and the former one (bytes 0: none), and with this hub's name.
struct nats_scope {
    const char *cluster;
    const struct realm *realm, *former;
    const struct hub_name *hub;
};
// Appends the lines SUB and UNSUB that make the subscriptions match the registry. Each name gets a queue subscription a
// member. Subjects whose messages go to all hubs get one subscription, with a queue of the hub's own. Each agentId,
// also those in `claims`, gets a plain subscription. `agents` is NULL if no agent is left.
void nats_subscriptions_follow(struct nats_subscriptions *presence, const struct agents *agents,
                               const struct list *claims, const struct nats_scope *scope, struct text *lines);
// Returns the subscription that a message came under, or NULL.
struct nats_subscription *nats_subscriptions_find(struct nats_subscriptions *presence, const uint8_t *bytes,
                                                  struct span subject, struct span sid);
// Notes that a request under this subject has been answered or has ended.
void nats_subscriptions_left(struct nats_subscription *present, struct quota *quota);
static inline bool nats_subscriptions_is_behind(const struct nats_subscriptions *presence,
                                                const struct agents *agents) {
    return presence->changes != agents->changes || presence->is_behind;
}
