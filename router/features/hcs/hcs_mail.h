// The travel of frames and clients between shards, and from a shard to itself. Both always travel by mail, so that the
// effects of a frame come after those of earlier frames, and nothing happens in the middle of other work.
#pragma once

#include "core/base/text.h"
#include "router/engine/shard/peer.h"
#include "router/engine/shard/post.h"

enum hcs_mail_kind {
    // A client, as it travels:
    HCS_MAIL_JOIN,       // to the session's shard, to join
    HCS_MAIL_HOME,       // back: it isn't one any more
    HCS_MAIL_OPENED,     // it has joined, which its transport wants to know
    HCS_MAIL_LEAVE,      // its peer has gone
    HCS_MAIL_LEFT,       // that comes home
    HCS_MAIL_REPORT,     // it is over, or stuck, or not any more
    HCS_MAIL_HEARD,      // that comes home
    HCS_MAIL_HTTP_FRAME, // a frame that came over HTTP, for the session's shard
    HCS_MAIL_DONE,       // back, with what became of it
    // Of a parcel:
    HCS_MAIL_FRAME,  // a frame for the session's shard, from mail.connection
    HCS_MAIL_GIVE,   // a frame for a client
    HCS_MAIL_FLUSH,  // what waits for a client is dropped
    HCS_MAIL_TELL,   // a frame for mail.connection; mail.detail: it can't be refused
    HCS_MAIL_START,  // a start for the producer mail.connection; hub_id is the session's handle
    HCS_MAIL_TURNED, // it comes back: the producer takes no more
};
enum { HCS_TIMER_SESSION, HCS_TIMER_LOOK };

void hcs_mail_post(struct shard *shard, uint32_t to, struct mail *mail, enum hcs_mail_kind kind);
// The shard on which a session of this name lives.
uint32_t hcs_mail_return(const struct shard *shard, const char *id, size_t bytes);
// Sends a connection a frame, which is taken over. A frame that is `owed` passes a full queue.
void hcs_mail_send(struct shard *shard, uint64_t connection, struct parcel *parcel, bool required);
// HCS_MAIL_TELL.
void hcs_mail_arrived(struct shard *shard, struct parcel *parcel);
// Takes a frame, and gives one back whose line breaks are what the peer's wire makes of them; NULL where memory is
// short: the peer is closed.
struct parcel *hcs_mail_fit(struct shard *shard, struct peer *peer, struct parcel *parcel);
// Queues a frame for a peer of this shard. Takes the parcel.
void hcs_mail_queue(struct shard *shard, struct peer *peer, struct parcel *parcel);
