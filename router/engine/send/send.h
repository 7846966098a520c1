// The last step of a frame: into the outbox of its destination, and once a turn to the kernel.
#pragma once

#include "core/send/parcel.h"
#include "router/engine/send/queue_limit.h"
#include "router/engine/shard/peer.h"

// Queues a parcel for a peer of this shard. Takes the parcel in any case.
void send_queue(struct shard *shard, struct peer *peer, struct parcel *parcel);
// Queues a parcel for the present receiver alone: the next process of a child doesn't get the parcel.
void send_queue_this_process(struct shard *shard, struct peer *peer, struct parcel *parcel);
// Returns whether small frames for the peer are packed now (core/send/pack.h), as far as its queue tells. The queue
// must have room and allow packs (outbox_may_pack): enough waits to be worth a pack, less than 128 KiB waits, there is
// no index of requests, and no frame is half out. No send to the peer may be under way, and no pause. The peer must not
// be confined: sends to it have memory of their own.
static inline bool send_may_pack(const struct shard *shard, const struct peer *peer) {
    const struct connection *connection = &peer->connection;
    return outbox_may_pack(&connection->outbox) && !peer_is_unreachable(peer) && !connection->send_op &&
           !connection->paused && !connection->limits_backlog &&
           connection->buffer_mode != BUFFER_MODE_SMALL && queue_limit_has_room(shard, peer);
}
// The same for frames with a length line: the peer must have the plain framed transport.
static inline bool send_may_pack_framed(const struct shard *shard, const struct peer *peer) {
    return peer->transport == &transport_framed && send_may_pack(shard, peer);
}
// Packs a frame for a peer where send_may_pack_framed, or send_may_pack; `frame` is one that pack_takes, and the
// rest as of pack_add. False: there is no room, and the frame must go as a parcel.
bool send_pack(struct shard *shard, struct peer *peer, const struct frame *frame, struct span value,
               struct piece text, uint64_t hub_id, const struct pack_envelope *envelope);
// Queues the parcels of one frame in their order, as send_queue_required.
void send_queue_chain(struct shard *shard, struct peer *peer, struct parcel_list *frame);
// Queues the parcels of one frame at once, which costs less than one by one. The parcels must be encoded, of the normal
// lane, and not for the transport to divert.
void send_queue_row(struct shard *shard, struct peer *peer, struct parcel_list *frame);
// Queues a parcel that can't be refused, for the present receiver alone. Past twice the bound the peer must go on
// reading (slow_reader.c).
void send_queue_required(struct shard *shard, struct peer *peer, struct parcel *parcel);
// Replaces a small parcel that must wait by a copy outside the receive buffer: a slow reader then holds no buffers of
// other peers. Returns the same parcel if that is large, or if there is no memory for a copy.
struct parcel *send_detach(struct shard *shard, struct parcel *parcel);
// Releases a parcel: drops one reference of a shared original, or gives the parcel back to its owner.
void send_release(struct shard *shard, struct parcel *parcel);
// Queues an event for a peer with room. A peer that has missed events is told first, by hub/dropped {"count": N}.
// Returns false without memory: then the caller keeps the parcel.
bool send_event(struct shard *shard, struct peer *peer, struct parcel *parcel);
// Counts events that the peer has missed. The peer is told before the next event, or when its queue is empty.
void send_missed(struct shard *shard, struct peer *peer, uint32_t count);
// Tells the peer that an unknown number of events was lost, by hub/dropped {"count":0,"unknown":true}.
void send_missed_unknown(struct shard *shard, struct peer *peer);
// Tells the peer now how many events it has missed, if there is memory. At most one more frame is queued for the peer.
void send_missed_before_end(struct shard *shard, struct peer *peer);
// Puts the peer among those for which this turn sends.
void send_soon(struct shard *shard, struct peer *peer);
// Sends to every peer for which something was queued in this turn. Peers for which only events to many wait are served
// in part (struct turn_bounds), the others in the turns that follow.
void send_flush_all(struct shard *shard);
// Returns when more events to many can be sent, by io_now; 0: at once; UINT64_MAX: none waits.
uint64_t send_goes_on_ns(const struct shard *shard);
// Handles an IO_SENT event.
void send_sent(struct shard *shard, struct peer *peer, int32_t result);
