// Orders: changes of the registry that are under way (registry.h).
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
    ORDER_RESIGN, // unregisters all agents of a connection, which stays
    ORDER_LEAVE,  // as ORDER_RESIGN, and ends the requests to these agents: the connection is gone
    // Ends the requests to a child, and the agents that its program has registered: the child may start again
    ORDER_CHILD_STOPPED,
    ORDER_YIELD, // unregisters an agent, since another hub has the name; the agent's connection is told
    ORDER_LINK,  // makes the connection the link to other hubs
};

enum order_stage {
    ORDER_SUBMITTED,
    ORDER_APPLIED,
    ORDER_IN_FORCE,   // applied on all shards, before its own shard knows; in a cluster alone
    ORDER_CONFIRMING, // waits until other hubs can reach the agent; in a cluster alone
    ORDER_SETTLED,
    ORDER_NOTIFYING, // tells the connection that has lost the name
    ORDER_NOTIFIED,
    ORDER_MARKING, // the first stage of ORDER_CHILD_STOPPED with on_marked
};

struct order {
    struct mail mail; // mail.connection: the connection that the order is about
    enum order_kind kind;
    enum order_stage stage;
    enum error error;        // ERROR_NONE, or the error with which the order fails
    uint64_t limit;          // the limit that the error is about; 0: none
    uint64_t reserved_bytes; // quota for the shards that have yet to apply the order
    enum governance governance;
    uint64_t connected_since_ms;
    uint64_t held_since_ms; // of a registration: since when the name is held, by shard 0's clock
    uint64_t replaced;      // the connection that has lost the name and must be told; 0: none
    // Of a registration: its number, counted by shard 0. Before that, with `revoked`, and of ORDER_YIELD: the number of
    // the registration that ends.
    uint64_t serial;
    // Patterns that the order lists, until these are in force or the order has come back
    uint32_t patterns;
    bool in_flight;                    // the order counts in peer.admission.orders
    struct capabilities *capabilities; // one reference, or NULL
    struct latency *latency;           // of a registration; one reference, or NULL without memory
    const struct child_record *child;  // this and the next two: of a child's agent (core/agents/agent.h)
    struct capabilities *answer;       // one reference, or NULL
    uint32_t pool_bytes;
    const struct user *owner; // of a registration: the agent's user; or NULL
    uint64_t holder;          // of a registration: to whom its quota counts (core/base/quota.h)
    uint32_t users_number;    // of a registration: users.number of the users file
    bool over_share;          // the holder would have more than half of the quota
    bool revoked;             // the order takes back what the user's rights allow no more; the peer is told
    bool hermes, resting, absent, local_only;
    bool down;            // of ORDER_CHILD_STOPPED: the child doesn't start again
    bool removed;         // of ORDER_LEAVE: requests that waited find no agent of the name
    uint64_t *exempt_ids; // of ORDER_CHILD_STOPPED: as struct exempt_requests; the order owns the memory
    size_t exempt_count;
    bool requests_wait; // of ORDER_CHILD_STOPPED: exempt_ids has requests that were not sent yet
    // Of ORDER_CHILD_STOPPED, if only marked requests end: called on the connection's shard when each shard has marked
    // its requests to the connection and all marked requests have arrived.
    void (*on_marked)(struct shard *shard, struct order *order);
    uint32_t mark_next; // with on_marked: how many shards were told to mark
    bool others_wait;   // of ORDER_CHILD_STOPPED: requests that another program has, or will have, survive
    uint32_t ended;     // of ORDER_CHILD_STOPPED: requests and sessions that have ended so far
    bool *had_requests; // of ORDER_CHILD_STOPPED, on the order's shard: set at the end if any have ended
    uint32_t *awaiting_count; // on the order's shard: counted down when the order has come back; or NULL
    char *request_id;         // owned by the order; NULL: no request waits for an answer
    uint32_t request_id_bytes;
    struct exchange *exchange; // to which the answer is due, or NULL
    struct list by_barrier;    // on shard 0, in ORDER_CONFIRMING
    // On shard 0, while other hubs are asked whether they hold the name (claim_table.h):
    struct list by_table, by_id, by_connection, by_number;
    uint64_t claim_number;                    // of the question to other hubs; 0: not asked yet
    uint64_t claimed_ms;                      // when they were asked
    struct order *next_same, *next_same_last; // later orders of the same connection for the same name
    // In ORDER_CONFIRMING: the number of the PING whose PONG ends the wait; 0: not sent yet
    uint64_t barrier_ping;
    uint64_t barrier_ms; // in ORDER_CONFIRMING: since when
    uint32_t agent_id_bytes;
    char agent_id[AGENT_ID_BYTES_MAX + 1];
};

// Makes an order about a connection of this shard. Returns NULL without memory, or when the quota is used up.
struct order *order_create(struct shard *shard, enum order_kind kind, uint64_t connection);
void order_destroy(struct shard *shard, struct order *order);
// Makes an order that a message asks for, with the request's id. Without memory refuses the message and returns NULL.
struct order *order_for_message(struct shard *shard, const struct message *message, enum order_kind kind);
// Sends an admitted order to shard 0. The order is never applied within the call.
void order_send(struct shard *shard, struct order *order);
// Answers the request behind an order that has been settled.
void order_answer(struct shard *shard, const struct order *order);

// --- Admission

// Decides which of a connection's orders to the registry may go out now (registry.h). The connection's agents and
// subscriptions together may have at most SUBSCRIPTIONS_PER_CONNECTION_MAX patterns. A registration over that limit
// must change nothing anywhere, so the connection's own shard checks the limit before any other shard gets the order.
//
// Orders under way count with all their patterns, since their end isn't known yet. A registration goes out if it has
// room whatever their end. Otherwise it waits for their end, and later orders of the connection wait behind it. A
// registration without room, and without an order to wait for, is refused.

// Sends an order of this shard, lets it wait, or refuses it. The order is never settled within the call.
void admission_submit(struct shard *shard, struct order *order);
// Notes, on any shard, that a registration was applied or refused: its patterns are in force now, or never will be.
void admission_applied(struct shard *shard, struct order *order);
// Notes that an order has come back: others may go out.
void admission_settled(struct shard *shard, const struct order *order);
// Ends the peer's registrations that wait, since the peer can't answer any more.
void admission_leave(struct shard *shard, struct peer *peer);
