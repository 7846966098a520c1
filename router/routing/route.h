// Decides where a message goes. core/lookup reads the message's fields, core/agents/rules.h chooses the target.
#pragma once

#include "core/agents/rules.h"
#include "core/send/parcel.h"
#include "router/engine/message/message.h"
#include "router/engine/shard/peer.h"

struct exchange;
struct message;
struct origin;

// Routes a whole frame of this peer. Takes references of what is needed longer. Answers go to the exchange, which must
// be open and which the caller closes; NULL: to the peer, as they come. With a users file the frame gets the name of
// its user (route_set_user_header).
void route_frame(struct shard *shard, struct peer *peer, struct frame *frame, struct exchange *exchange);
// Routes a message from another hub, for the sender that `origin` tells: neither a response nor an array.
void route_remote(struct shard *shard, struct peer *link, struct frame *frame, struct exchange *exchange,
                  const struct origin *origin);
// Returns the frame with the name of the peer's user, as forwarded frames have it with a users file.
struct frame route_set_user_header(const struct shard *shard, const struct peer *peer,
                                   const struct frame *frame);
// Routes a request or notification of a peer whose transport attaches it to one agent of this hub. The message must
// have been looked up and narrowed (message_narrow). The answer is due to the message's exchange, which must be open.
void route_attached(struct shard *shard, struct message *message);
// Routes a message that was held and is approved now. The message has been looked up and checked already, as far as
// that comes before routing.
void route_approved(struct shard *shard, struct message *message);
// Routes a request once more that other hubs did not take.
void route_retry(struct shard *shard, struct message *message);

// --- The user's header

// Copies a frame without the Patchbay-User fields that its sender has written: with a users file the hub alone names
// the user. `unit` and `out` become those of the copy. Returns the copy's buffer, whose reference the caller must drop;
// NULL without memory.
struct buffer *user_header_strip(struct buffer_pool *pool, const struct frame *frame, struct unit *unit,
                                 struct frame *out);

// --- The query to the rules
//
// The fields of a message by which the rules choose a target (core/agents/rules.h).

// The decoded fields, and room for their texts.
struct route_query {
    struct rules_message criteria;
    bool named; // the message names a target
    char target[METHOD_BYTES_MAX + 1], second[METHOD_BYTES_MAX];
};

// Decodes a message's method. If message.again is set, method and target have no escapes.
void route_query_read_method(struct message *message);
// Reads the other fields of a message whose method has been decoded.
void route_query_read(const struct message *message, struct route_query *query);
