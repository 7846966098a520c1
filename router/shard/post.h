// What travels between shards. What the receiver does with it is the inbox's affair (inbox.c).
#pragma once

#include "router/shard/shard.h"

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
    MAIL_HEARD,     // it comes home, with how many got it
    MAIL_ADOPT,     // a socket for a new peer
    MAIL_ORDER,     // a change of the registry (registry.c)
    MAIL_ENTRIES,   // a chain of entries of the journal, for shard 0
    MAIL_ENTRIES_SETTLED, // they come home
};

// Holds an order of this shard's own back, as those of other shards are (inbox.h).
void post_defer(struct shard *shard, struct mail *order);
// Shows what was posted in this turn, and wakes shards that sleep.
void post_publish(struct shard *shard);
// Whether no mail has come. Said after `asleep` was set, this makes it safe to sleep.
bool post_quiet(struct shard *shard);
