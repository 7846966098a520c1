// Events: one body to all who subscribed to its name, on all shards, but not to its source (HugAI v2
// messages, section 3.5).
//
// The source's shard hands the event to its own subscribers, and one parcel of it to each other shard that
// has any. The parcel goes by the same mail as all else, so that an event stays behind its source's earlier
// messages. On each shard all receivers share that parcel: an entry in a queue each, and no copy of the body.
// Each other shard reports how many got it. When all have, a request is answered {"delivered": N}; a source
// that has half-closed stays until then.
//
// Events of one name that lie one behind the other in a receive buffer make a run, which goes out as if it
// were one. A subscriber gets all of them as one stretch of that buffer. Where they did not come as they are
// to leave, the stretch is one text that is made ready for all receivers of its wire (core/send/event_run.h). A
// run ends where another frame comes, at the latest with the arrival.
//
// A subscriber whose queue is full, or for whose entry in it there is no memory, misses the event, and is
// counted. The subscriber is told how many it missed before the next one that it gets, or when its queue has
// emptied (send.c). A request for which there is no memory at all is refused, and so is one for which a
// mailbox has no room. A notification goes to nobody then, and all its subscribers are told that they missed
// it (event_fanout.h).
#pragma once

#include "router/engine/message/message.h"
#include "router/engine/shard/shard.h"

struct presence_change;

// Sends the run out.
void events_publish_run(struct shard *shard);
// Whether the user of a request or notification `event` may publish what it names, however it is addressed; if not, it
// was refused.
bool events_may_publish(struct shard *shard, const struct message *message);
// A request or notification `event` without a targetAgent.
void events_publish(struct shard *shard, const struct message *message);
// An event of the hub's own, about what is held: for those who may approve that (router/features/gate), but not for its `source` and `user`.
// The body is copied.
void events_announce(struct shard *shard, uint64_t source, const struct user *user, const char *name,
                     const struct text *body);
// Whether there is room for an event of the hub's own now.
bool events_may_announce(struct shard *shard);
// An event about an agent: for those who may see that agent, and for nobody else. The body is copied.
void events_announce_agent(struct shard *shard, struct presence_change *change, const char *name,
                           const struct text *body);
// Tells this shard's subscribers that other hubs have lost events, if they have since that was said.
void events_report_unknown(struct shard *shard);
// Whatever isn't the next event of a run is about to happen: the run goes out.
static inline void events_flush(struct shard *shard) {
    if (shard->run.count)
        events_publish_run(shard);
}
// Tells who missed events of this shard's sources, if there is room for that now.
void events_report_missed(struct shard *shard);
// Reports missed events, once a turn.
static inline void events_follow(struct shard *shard) {
    if (shard->missed || shard->missed_unnamed)
        events_report_missed(shard);
    events_report_unknown(shard);
}
// MAIL_EVENT and MAIL_EVENT_ACK.
void events_arrived(struct shard *shard, struct mail *mail);
void events_returned(struct shard *shard, struct mail *mail);

// --- Presence

// Events of agents that have come and gone (router/registry/presence.h).

// Publishes changes that were noted, in their order, as long as there is room for events.
void presence_event_publish(struct shard *shard);
// Publishes noted changes, once a turn.
static inline void presence_event_follow(struct shard *shard) {
    const struct presence_queue *queue = &shard->presence;
    if (!list_empty(&queue->changes) || queue->missed_came + queue->missed_went > 0)
        presence_event_publish(shard);
}
