// The middle of a frame's way: what is it, and where does it go? lookup tells the first, rules the second.
#pragma once

#include "core/agents/rules.h"
#include "core/send/parcel.h"
#include "router/engine/message/message.h"
#include "router/engine/shard/peer.h"

struct exchange;
struct message;
struct origin;

// Routes a whole frame that came from this peer. References that are needed longer are taken. Answers go to
// the exchange, which is open and is closed by the caller; NULL: to the peer, as they come. Where users are
// on, the frame becomes one that bears the name of its user (route_sign).
void route_frame(struct shard *shard, struct peer *peer, struct frame *frame, struct exchange *exchange);
// Routes a message from another hub, for the sender that `origin` tells: neither a response nor an array.
void route_remote(struct shard *shard, struct peer *link, struct frame *frame, struct exchange *exchange,
                  const struct origin *origin);
// Where users are on, what is forwarded bears the name of its user, as the hub knows it: a frame of the peer's that does.
struct frame route_sign(const struct shard *shard, const struct peer *peer, const struct frame *frame);
// Routes a request or notification of a peer whose transport attaches it to one agent of this hub. The message must have been
// looked up and narrowed (message_narrow). The answer is due to the message's exchange, which must be open.
void route_attached(struct shard *shard, struct message *message);
// Routes a message that was held and may go now: it has been looked up, and all has been judged that is judged
// before routing.
void route_approved(struct shard *shard, struct message *message);
// Routes a request that is sent to other hubs once more.
void route_retry(struct shard *shard, struct message *message);

// --- The user's header

// Makes a copy of a frame without the header fields by which its sender says itself whose it is (Patchbay-User): where
// users are on, the hub alone says that. `unit` and `out` become those of the copy. Returns the copy's buffer, which is
// the caller's to drop; NULL without memory.
struct buffer *user_header_strip(struct buffer_pool *pool, const struct frame *frame, struct unit *unit,
                                 struct frame *out);

// --- Targets that are asked for
//
// A message's question to the rules (core/agents/rules.h): its fields, decoded.

// With room for the texts.
struct route_query {
    struct rules_message criteria;
    bool named; // it names a target itself
    char target[METHOD_BYTES_MAX + 1], second[METHOD_BYTES_MAX];
};

// Decodes a message's method. A method that is said again has no escape, nor has its target.
void route_query_read_method(struct message *message);
// Reads the fields of one whose method is known.
void route_query_read(const struct message *message, struct route_query *query);
