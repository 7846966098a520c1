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
    MAIL_DIRECTORY_QUERY, // asks other hubs who is there, on shard 0, and goes home (router/registry/directory.h)
    MAIL_ATTACH, // asks other hubs for an agent's name, on shard 0, and goes home (router/routing/remote_attach.h)
    MAIL_REMOTE, // what has become of a request to another hub (router/routing/remote_end.h)
    MAIL_PART,   // a parcel: the program to which mail.connection has said exit has ended
    // From FEATURE_KINDS_FROM on: of features (feature.h).
};

// The kind of an answer that travels, in mail.detail.
enum answer_detail {
    ANSWER_ERROR = 1,  // it is one
    ANSWER_BY_HUB = 4, // of this hub's, for a request that it had sent to others
};

// Posts mail to a shard. Mail of a shard to itself is dealt with in the same turn, behind the work at hand. Such mail must
// be a feature's.
void post_mail(struct shard *shard, uint32_t to, struct mail *mail);
// Holds an order of this shard's own back, as those of other shards are (inbox.h).
void post_defer(struct shard *shard, struct mail *order);
// Shows what was posted in this turn, and wakes shards that sleep.
void post_publish(struct shard *shard);
// Whether no mail has come. Said after `asleep` was set, this makes it safe to sleep.
bool post_quiet(struct shard *shard);
