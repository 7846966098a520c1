// The middle of a frame's way: what is it, and where does it go? lookup tells the first, rules the second.
#pragma once

#include "core/send/parcel.h"
#include "router/engine/shard/peer.h"

struct exchange;
struct message;

// Routes a whole frame that came from this peer. References that are needed longer are taken. Answers go to
// the exchange, which is open and is closed by the caller; NULL: to the peer, as they come. Where users are
// on, the frame becomes one that bears the name of its user (route_sign).
void route_frame(struct shard *shard, struct peer *peer, struct frame *frame, struct exchange *exchange);
// Routes one that has waited (router/engine/message/stall_queue.h), a frame or a member of a batch.
void route_waited(struct shard *shard, struct peer *peer, struct frame *frame, struct exchange *exchange,
                  bool is_member);
// Behind that, with what waits still where it waits: a batch that has brought an exit is its connection's end, once all of it has been routed.
void route_over(struct shard *shard, struct peer *peer, const struct exchange *exchange);
// Where users are on, what is forwarded bears the name of its user, as the hub knows it: a frame of the peer's that does.
struct frame route_sign(const struct shard *shard, const struct peer *peer, const struct frame *frame);
// Routes a message that was held and may go now: it has been looked up, and all has been judged that is judged
// before routing.
void route_approved(struct shard *shard, struct message *message);
// The same for a request that was offered to another hub, and is back.
void route_returned(struct shard *shard, struct message *message);
