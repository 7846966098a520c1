// The last step of a frame's way: into its destination's outbox, here or on another shard, and out once a
// turn.
#pragma once

#include "core/send/parcel.h"
#include "router/engine/send/queue_limit.h"
#include "router/engine/shard/peer.h"

// Queues a parcel for a peer of this shard; takes the parcel in any case.
void send_queue(struct shard *shard, struct peer *peer, struct parcel *parcel);
// Queues a parcel that means something to the present receiver alone: the next process of a child doesn't get it.
void send_queue_bound(struct shard *shard, struct peer *peer, struct parcel *parcel);
// Whether small frames for the peer are packed now (core/send/pack.h). The peer must have the plain framed transport, no
// exchange that holds answers, and room in its queue. The queue must allow packs (outbox_may_pack): enough waits to be worth a
// pack, less than 128 KiB waits, there is no index of requests, and no frame is half out. No send to the peer may be under way,
// and no pause.
static inline bool send_may_pack(const struct shard *shard, const struct peer *peer) {
    const struct connection *connection = &peer->connection;
    return outbox_may_pack(&connection->outbox) && peer->transport == &transport_framed &&
           !peer_is_deaf(peer) && !connection->shipment && !connection->paused && !connection->hurries &&
           connection->share == SHARE_MANY && peer->exchange_bytes == 0 && queue_limit_has_room(shard, peer);
}
// Packs a frame for a peer where send_may_pack; `frame` is one that pack_takes, and the rest as of pack_add. False:
// there is no room, and the frame must go as a parcel.
bool send_pack(struct shard *shard, struct peer *peer, const struct frame *frame, struct span value,
               struct piece text, uint64_t hub_id);
// The parcels of one frame, in their order: as send_queue_required.
void send_queue_chain(struct shard *shard, struct peer *peer, struct parcel_list *frame);
// Queues parcels of one frame that are all dressed, of the normal lane, and not the transport's to divert. One by one
// they would cost more.
void send_queue_row(struct shard *shard, struct peer *peer, struct parcel_list *frame);
// Queues a parcel that can't be refused, for the present receiver alone. Past twice the bound a peer must go on
// reading (slow_reader.c).
void send_queue_required(struct shard *shard, struct peer *peer, struct parcel *parcel);
// Takes a parcel that must wait and gives one back without the receive buffer that it lies in. A small one is
// copied, so that a slow reader holds its own bytes and not other peers' buffers. The same parcel comes back
// where it is large, or where there is no memory for a copy.
struct parcel *send_detach(struct shard *shard, struct parcel *parcel);
// Lets a parcel go: one hold of a shared origin, or the parcel itself, which goes back to its owner.
void send_release(struct shard *shard, struct parcel *parcel);
// Queues an event for a peer that has room. If it missed some before, it is told how many first, with
// hub/dropped {"count": N}. False when memory is used up; the parcel is then the caller's still.
bool send_event(struct shard *shard, struct peer *peer, struct parcel *parcel);
// An event couldn't be queued for a peer: it is told before the next one, or when its queue has emptied.
void send_missed(struct shard *shard, struct peer *peer, uint32_t count);
// Events may have been missed of which nobody knows how many: the peer is told, with hub/dropped {"count":0,"unknown":true}.
void send_missed_unknown(struct shard *shard, struct peer *peer);
// Tells the peer now how much it has missed, as far as there is memory: nothing will be queued for it any
// more but one last frame.
void send_missed_before_end(struct shard *shard, struct peer *peer);
// Has the peer's queue looked at when the sends of this turn are made.
void send_soon(struct shard *shard, struct peer *peer);
// Sends to every peer for which something was queued in this turn. Peers for which only events to many wait are served in
// part (struct turn_bounds), the others in the turns that follow.
void send_flush_all(struct shard *shard);
// When more of what goes to many can be sent, by io_now; 0: at once, UINT64_MAX: nothing waits.
uint64_t send_goes_on_ns(const struct shard *shard);
// An IO_SENT event came.
void send_sent(struct shard *shard, struct peer *peer, int32_t result);
