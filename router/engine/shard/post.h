// The kinds of mail between shards. The receiver's inbox handles each kind (inbox.c).
#pragma once

#include "router/engine/shard/shard.h"

// The detail of MAIL_DELIVER (mail.detail).
enum mail_delivery {
    MAIL_DELIVERY_PLAIN,
    // An event for other hubs: a link without room counts the event as not published
    MAIL_DELIVERY_EVENT_REMOTE,
};

enum mail_kind {
    MAIL_DELIVER, // a parcel for mail.connection, of request hub_id; 0: a notification
    MAIL_RESPONSE, // the response to hub_id from mail.connection: a parcel with a hole; mail.detail: answer_detail
    MAIL_BROKEN, // as MAIL_RESPONSE, but the response can't be used
    MAIL_PROGRESS, // progress of hub_id from mail.connection: a parcel with a hole; mail.detail: the kind of token
    MAIL_RETURN, // gives a parcel back to its shard
    MAIL_REFUSED, // as MAIL_RETURN, and request hub_id was refused with the error mail.detail; answered by MAIL_KNOWN
    MAIL_KNOWN, // the source's shard knows that hub_id was refused, and sends no cancel any more
    MAIL_CANCEL, // a cancel of request hub_id, for mail.connection; mail.detail: the source waits for an answer
    MAIL_CANCELLED,       // a MAIL_CANCEL goes back: request hub_id was taken out of the target's queue
    MAIL_EVENT,           // an event for this shard's subscribers (events.c)
    MAIL_EVENT_ACK,       // a MAIL_EVENT goes back, with the number of subscribers that got the event
    MAIL_ADOPT,           // a socket for a new peer
    MAIL_EVICT,           // the shard's oldest connection without a credential must close
    MAIL_ORDER,           // a change of the registry (registry.c)
    MAIL_ENTRIES,         // a chain of entries of the journal, for shard 0
    MAIL_ENTRIES_SETTLED, // a MAIL_ENTRIES goes back: the entries were written or have failed
    // Asks other hubs for their agents, on shard 0, and goes back (router/registry/directory.h)
    MAIL_DIRECTORY_QUERY,
    // Asks other hubs for an agent's name, on shard 0, and goes back (router/routing/remote_attach.h)
    MAIL_ATTACH,
    MAIL_REMOTE, // the end of a request to another hub (router/routing/remote_end.h)
    MAIL_CLOSE_PEER, // mail.connection must end: its program has ended after its exit; the parcel's body isn't sent
    // From FEATURE_KINDS_FROM on: of features (feature.h).
};

// The detail of MAIL_RESPONSE, as bits.
enum answer_detail {
    ANSWER_ERROR = 1, // the response is an error
};

// Posts mail to a shard. Mail of a shard to itself must be of a feature's kind, and is handled in the same turn, after
// the present work.
void post_mail(struct shard *shard, uint32_t to, struct mail *mail);
// Defers an order of this shard, as the inbox defers orders of other shards (inbox.h).
void post_defer(struct shard *shard, struct mail *order);
// Publishes the mail that was posted in this turn, and wakes the shards that sleep.
void post_publish(struct shard *shard);
// Returns whether no mail has come. Asked after `asleep` was set, this makes it safe to sleep.
bool post_quiet(struct shard *shard);
