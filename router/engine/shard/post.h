// Mail between shards. The receiver's inbox tells what each kind does (inbox.c).
#pragma once

#include "router/engine/shard/shard.h"

// mail.detail of MAIL_DELIVER.
enum mail_delivery {
    MAIL_DELIVERY_PLAIN,
    MAIL_DELIVERY_EVENT_AWAY, // an event for other hubs: a link without room for it counts it as not published
};

enum mail_kind {
    MAIL_DELIVER,   // a parcel for mail.connection; hub_id says whose request it is (0: a notification)
    MAIL_ANSWER,    // a parcel with a hole, answering hub_id; mail.connection says who answers, mail.detail
                    // whether with an error
    MAIL_BROKEN,    // likewise, but the answer can't be used
    MAIL_PROGRESS,  // a parcel with a hole: progress of hub_id under its token mail.detail, from
                    // mail.connection
    MAIL_RETURN,    // a parcel comes home
    MAIL_REFUSED,   // likewise, and the request hub_id was refused: mail.detail is the error. From there it
                    // goes back once more
    MAIL_KNOWN,     // a refused request is back: the shard that asked says nothing more of it
    MAIL_CANCEL,    // a cancel of request hub_id, for mail.connection; mail.detail: the source waits for an
                    // answer
    MAIL_CANCELLED, // it comes home: the request hub_id was taken out of the queue
    MAIL_EVENT,     // an event for this shard's subscribers (events.c)
    MAIL_EVENT_ACK, // it comes home, with how many got it
    MAIL_ADOPT,     // a socket for a new peer
    MAIL_EVICT,     // the oldest one without a credential is to go
    MAIL_ORDER,     // a change of the registry (registry.c)
    MAIL_ENTRIES,   // a chain of entries of the journal, for shard 0
    MAIL_ENTRIES_SETTLED, // they come home
    // HCS (router/features/hcs/hcs.h). A client, as it travels:
    MAIL_STREAM_JOIN,       // to the session's shard, to join
    MAIL_STREAM_HOME,       // back: it isn't one any more
    MAIL_STREAM_OPENED,     // it has joined, which its transport wants to know
    MAIL_STREAM_LEAVE,      // its peer has gone
    MAIL_STREAM_LEFT,       // that comes home
    MAIL_STREAM_REPORT,     // it is over, or stuck, or not any more
    MAIL_STREAM_HEARD,      // that comes home
    MAIL_STREAM_HTTP_FRAME, // a frame that came over HTTP, for the session's shard
    MAIL_STREAM_DONE,       // back, with what became of it
    // Of a parcel:
    MAIL_STREAM_FRAME,  // a frame for the session's shard, from mail.connection
    MAIL_STREAM_GIVE,   // a frame for a client
    MAIL_STREAM_FLUSH,  // what waits for a client is dropped
    MAIL_STREAM_TELL,   // a frame for mail.connection; mail.detail: it can't be refused
    MAIL_STREAM_START,  // a start for the producer mail.connection; hub_id is the session's handle
    MAIL_STREAM_TURNED, // it comes back: the producer takes no more
    MAIL_GATE_QUERY, // asks shard after shard about what is held, and goes home (router/features/gate/gate_query.h)
    MAIL_DIRECTORY_QUERY, // asks other hubs who is there, on shard 0, and goes home (router/registry/directory.h)
    MAIL_ATTACH, // asks other hubs for an agent's name, on shard 0, and goes home (router/routing/remote_attach.h)
    MAIL_REMOTE,    // what has become of a request to another hub (router/routing/remote_end.h)
    MAIL_PART,      // a parcel: the program to which mail.connection has said exit has ended
    MAIL_DEPARTURE, // mail.connection, a user of shared servers, has gone; shard 0 gives it back
};

// The kind of an answer that travels, in mail.detail.
enum answer_detail {
    ANSWER_ERROR = 1,  // it is one
    ANSWER_BY_HUB = 4, // of this hub's, for a request that it had sent to others
};

// Holds an order of this shard's own back, as those of other shards are (inbox.h).
void post_defer(struct shard *shard, struct mail *order);
// Shows what was posted in this turn, and wakes shards that sleep.
void post_publish(struct shard *shard);
// Whether no mail has come. Said after `asleep` was set, this makes it safe to sleep.
bool post_quiet(struct shard *shard);
