// Orders: changes of the registry (registry.h) under way.
#pragma once

#include "core/agents/agent.h"
#include "core/base/errors.h"
#include "core/base/governance.h"
#include "core/base/list.h"
#include "router/engine/message/message.h"
#include "router/engine/shard/peer.h"

enum order_kind {
    ORDER_REGISTER,
    ORDER_UNREGISTER,
    ORDER_RESIGN, // all agents of a connection, which goes on
    ORDER_LEAVE,  // likewise, and what they owe ends: the connection is gone
    ORDER_REST,   // what a child owes ends, and what it registered itself: it may run again
    ORDER_YIELD,  // an agent, to one of the same name at another hub: whoever has it is told
    ORDER_LINK,   // the connection is the link to other hubs from now on
};

enum order_stage {
    ORDER_SUBMITTED,
    ORDER_APPLIED,
    ORDER_IN_FORCE,   // on all shards, of which its own hasn't heard yet; where there are other hubs
    ORDER_CONFIRMING, // that other hubs can reach the agent, where there are any
    ORDER_SETTLED,
    ORDER_NOTIFYING, // who lost the name to it
    ORDER_NOTIFIED,
    ORDER_MARKING, // first of all, of ORDER_REST with `marked`
};

struct order {
    struct mail mail; // mail.connection: whose it is
    enum order_kind kind;
    enum order_stage stage;
    enum error error;        // ERROR_NONE while all is well
    uint64_t limit;          // that the error is about; 0: none
    uint64_t reserved_bytes; // room for what the shards still keep of it that it hasn't come to
    enum governance governance;
    uint64_t connected_since_ms;
    uint64_t held_since_ms; // of a registration: by shard 0's clock
    uint64_t replaced;      // who lost the name to it, and is to be told; 0: nobody
    uint64_t
        serial; // of a registration: shard 0 counts them; until then, with `revoked`, and of ORDER_YIELD: the one that ends
    uint32_t patterns;                 // that it lists, until they are in force, or it has come back
    bool in_flight;                    // it counts among its peer's (orders.h)
    struct capabilities *capabilities; // one reference, or NULL
    struct latency *latency;          // of a registration; one reference, or NULL: there was no memory for it
    const struct child_record *child; // of a child's own, as those below (core/agents/agent.h)
    struct capabilities *answer;      // one reference, or NULL
    uint32_t pool_bytes;
    const struct user *owner; // of a registration: who has it, where users are on; or NULL
    uint64_t holder;          // then: for whom it is kept (core/base/quota.h)
    uint32_t users_number;    // then: users.number of the file
    bool over_share;          // it would be more than its holder's half of the quota
    bool revoked;             // it ends what its user may not have any more, and is told
    bool hermes, resting, absent, here_only;
    bool down;           // of ORDER_REST: the child isn't started again
    bool removed;        // of ORDER_LEAVE: nobody has its name any more, for what waited, too
    uint64_t *survivors; // of ORDER_REST: what waits on (struct spared); memory of its own
    size_t survivor_count;
    bool requests_wait; // likewise: requests that haven't gone out are among that
    // As on_done, where only marked requests end: called on the connection's shard once each shard has marked its requests to
    // the connection, and all marked requests have arrived.
    void (*on_marked)(struct shard *shard, struct order *order);
    uint32_t mark_next; // then: how many shards have been told to
    bool others_wait;   // likewise: those that another program has, or will have
    uint32_t ended;     // likewise: requests and sessions that it has, on the shards that it has come to
    bool *had_requests; // likewise, of this shard: set if there were any, when it has come back
    uint32_t *awaiting_count; // of this shard: counted down when it has come back; or NULL
    char *request_id;         // memory of its own; NULL: nobody waits for an answer
    uint32_t request_id_bytes;
    struct exchange *exchange; // that the answer belongs to, or NULL
    struct list by_barrier;    // on shard 0, while it is ORDER_CONFIRMING
    // On shard 0, while other hubs are asked whether they hold the name (claim_table.h):
    struct list by_table, by_id, by_connection, by_number;
    uint64_t claim_number;                    // the number under which they are; 0: they aren't, or weren't
    uint64_t claimed_ms;                      // since when
    struct order *next_same, *next_same_last; // the same connection's, of the same name, that have come since
    uint64_t barrier_ping; // likewise: which of the link's PINGs is answered then; 0: it isn't sent yet
    uint64_t barrier_ms;   // likewise: since when
    uint32_t agent_id_bytes;
    char agent_id[AGENT_ID_BYTES_MAX + 1];
};

// A new order about a connection of this shard, or NULL when memory, or the bound of what is kept, is used
// up.
struct order *order_create(struct shard *shard, enum order_kind kind, uint64_t connection);
void order_destroy(struct shard *shard, struct order *order);
// An order that a message asks for, with the id of its request in it. Without memory for it the message is
// refused, and the result is NULL.
struct order *order_for_message(struct shard *shard, const struct message *message, enum order_kind kind);
// Sends an order that was admitted (orders.h) on its way, to shard 0; never at once.
void order_send(struct shard *shard, struct order *order);
// Answers the request behind an order that has been settled.
void order_answer(struct shard *shard, const struct order *order);

// --- Admission

// Decides which of a connection's orders to the registry may go out now (registry.h). The connection's agents and its
// own subscriptions may together have SUBSCRIPTIONS_PER_CONNECTION_MAX patterns and no more. A registration that
// would pass that must change nothing anywhere. The connection's own shard therefore judges it, before any other
// shard has seen it.
//
// Orders under way count with all that they list, as nobody knows yet how they end. A registration that has room however
// those end goes out. Another registration waits for them, and all orders behind it wait, too, so that they keep their
// order. A registration that has no room, and no order to wait for, is refused.

// An order of this shard's goes out, waits, or is refused, which is settled later, never in this call.
void admission_submit(struct shard *shard, struct order *order);
// A registration was applied, or had no room: what it lists is in force now, or never will be. On any shard.
void admission_applied(struct shard *shard, struct order *order);
// An order has come back: others may go out.
void admission_settled(struct shard *shard, const struct order *order);
// The peer can't answer any more: no registration of its goes out now.
void admission_leave(struct shard *shard, struct peer *peer);
