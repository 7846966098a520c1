// The travel of frames and clients between shards, and from a shard to itself. Both always travel by mail, so that the
// effects of a frame come after those of earlier frames, and nothing happens in the middle of other work.
#pragma once

#include "core/base/text.h"
#include "router/engine/shard/peer.h"
#include "router/engine/shard/post.h"

void hcs_mail_post(struct shard *shard, uint32_t to, struct mail *mail, enum mail_kind kind);
// The shard on which a session of this name lives.
uint32_t hcs_mail_return(const struct shard *shard, const char *id, size_t bytes);
// Sends a connection a frame, which is taken over. A frame that is `owed` passes a full queue.
void hcs_mail_send(struct shard *shard, uint64_t connection, struct parcel *parcel, bool owed);
// MAIL_STREAM_TELL.
void hcs_mail_arrived(struct shard *shard, struct parcel *parcel);
// Takes a frame, and gives one back whose line breaks are what the peer's wire makes of them; NULL where memory is
// short: the peer is closed.
struct parcel *hcs_mail_fit(struct shard *shard, struct peer *peer, struct parcel *parcel);
// Queues a frame for a peer of this shard. Takes the parcel.
void hcs_mail_queue(struct shard *shard, struct peer *peer, struct parcel *parcel);
