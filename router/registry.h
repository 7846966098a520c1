// Who is registered, kept the same on all shards.
//
// A change is an order. Shard 0 puts orders into sequence: it decides an order, applies it, and hands it to
// shard 1, that one to shard 2, and so on; the last one hands it back to the shard it came from, which
// answers the peer. Mail between two shards stays in order, so every shard applies all orders in the same
// sequence, and an agent is reachable from everywhere when it reads its answer. Whether there is
// room for what all shards would keep is judged by shard 0 (core/agents.h), and whether the connection's
// agents together would list too many patterns of events by its own shard, before the order goes out
// (admit.h): what is refused ends without having changed anything. Another shard that has no memory to apply
// an order turns it into its opposite and sends it round once more.
#pragma once

#include "core/agent_id.h"
#include "core/errors.h"
#include "core/governance.h"
#include "router/shard.h"

enum order_kind {
    ORDER_REGISTER,
    ORDER_UNREGISTER,
    ORDER_RESIGN, // all agents of a connection, which goes on
    ORDER_LEAVE,  // likewise, and what they owe ends: the connection is gone
};

enum order_stage { ORDER_ASKED, ORDER_APPLIED, ORDER_SETTLED };

struct order {
    struct mail mail; // mail.connection: whose it is
    enum order_kind kind;
    enum order_stage stage;
    enum error error;   // ERROR_NONE while all is well
    uint64_t limit;     // that the error is about; 0: none
    uint64_t set_aside; // room for what the shards still keep of it that it hasn't come to
    enum governance governance;
    uint64_t connected_since_ms;
    uint64_t serial;                   // of a registration: shard 0 counts them
    uint32_t patterns;                 // that it lists, until they are in force, or it has come back
    bool under_way;                    // it counts among its peer's (admit.h)
    struct capabilities *capabilities; // one reference, or NULL
    char *request_id;                  // memory of its own; NULL: nobody waits for an answer
    uint32_t request_id_bytes;
    struct batch *batch; // that the answer belongs to, or NULL
    uint32_t agent_id_bytes;
    char agent_id[AGENT_ID_BYTES_MAX + 1];
};

// A new order about a connection of this shard, or NULL when memory, or the bound of what is kept, is used
// up.
struct order *order_create(struct shard *shard, enum order_kind kind, uint64_t connection);
void order_destroy(struct shard *shard, struct order *order);
// Sends an order on its way; the registry has it from now on.
void registry_submit(struct shard *shard, struct order *order);
// Sends on an order that was admitted, to shard 0.
void registry_send(struct shard *shard, struct order *order);
// Takes the next step of an order that came by mail.
void registry_step(struct shard *shard, struct order *order);
// The agents of a peer that can't answer any more leave: at most once a peer.
void registry_leave(struct shard *shard, struct peer *peer);
