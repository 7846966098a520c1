// What this hub subscribes to for its agents: one queue subscription a member of each name, up to a bound, so that the server
// chooses among hubs as there are members. On shard 0; it follows the registry, and knows no link.
#pragma once

#include "core/agents/agents.h"
#include "core/base/text.h"
#include "core/cluster/subject.h"

enum { NATS_SUBSCRIPTIONS_PER_NAME_MAX = 64 };

// A name under which somebody here can be asked for.
struct nats_subscription {
    struct list link;
    uint32_t members, subscriptions;
    uint32_t sids[NATS_SUBSCRIPTIONS_PER_NAME_MAX]; // of the subscriptions
    enum subject_kind kind;
    uint64_t requests, errors, took_ms; // that came under this name, and how they ended
    uint32_t bytes, token_at;           // of the subject; where the name begins in it
    uint32_t unanswered;                // that came under it and aren't answered yet
    bool is_gone;                       // nobody has it any more, and it stays for those
    char subject[];
};

struct nats_subscriptions {
    struct name_map by_subject; // NULL: nobody here can be asked for so
    struct list all;            // struct nats_subscription.link
    uint64_t changes;           // of the registry, that it has followed (agents.changes)
    uint32_t sids;              // that were given
    bool is_behind;             // for want of memory: it tries again
    struct quota *quota;
};

void nats_subscriptions_init(struct nats_subscriptions *presence, const struct siphash_key *key,
                             struct quota *quota);
// Forgets all subscriptions: they went with the link.
void nats_subscriptions_forget(struct nats_subscriptions *presence);
void nats_subscriptions_deinit(struct nats_subscriptions *presence);
// Under which names: of a cluster, of its REALM, and of the one before (bytes 0: none), as this hub.
struct nats_scope {
    const char *cluster;
    const struct realm *realm, *former;
    const struct hub_name *hub;
};
// Appends the lines with which subscriptions become what the registry asks for, SUB and UNSUB: a queue subscription a member; of what goes
// to all a hub gets one copy, since its queue has its own name; and of each name, also those that are claimed (struct order.asking),
// a plain one. Agents of NULL: none is left.
void nats_subscriptions_follow(struct nats_subscriptions *presence, const struct agents *agents,
                               const struct list *claims, const struct nats_scope *scope, struct text *lines);
// Somebody who came under that name has gone.
void nats_subscriptions_left(struct nats_subscription *present, struct quota *quota);
static inline bool nats_subscriptions_is_behind(const struct nats_subscriptions *presence,
                                                const struct agents *agents) {
    return presence->changes != agents->changes || presence->is_behind;
}
