// Events: one body goes to all subscribers of its name on all shards, but not to its source (HugAI v2 messages, section
// 3.5).
//
// The source's shard delivers the event to its own subscribers, and sends one parcel to each other shard with
// subscribers. The parcel goes by the same mail as other messages, so an event stays behind its source's earlier
// messages. On each shard all receivers share that parcel, so the body isn't copied. Each other shard reports how many
// subscribers got the event. When all shards have reported, a request is answered {"delivered": N}. A source that has
// half-closed stays until then.
//
// Events of one name that lie one behind the other in a receive buffer make a run, which is delivered as one event. A
// subscriber gets the run as one slice of that buffer. For receivers of another wire the run is written once for all of
// them (core/send/event_run.h). A run ends before another frame, at the latest with the arrival.
//
// A subscriber with a full queue, or for whose entry there is no memory, misses the event, which is counted. The
// subscriber is told how many events it missed before the next event, or when its queue is empty (send.c). Without
// memory, or without room in a mailbox, a request is refused. A notification is then delivered to nobody, and all its
// subscribers are told (event_fanout.h).
#pragma once

#include "router/engine/message/message.h"
#include "router/engine/shard/shard.h"

struct presence_change;

// Publishes the shard's run.
void events_publish_run(struct shard *shard);
// Returns whether the user of a message `event` may publish an event of that name. If not, the message was refused.
bool events_may_publish(struct shard *shard, const struct message *message);
// Publishes a request or notification `event` without a targetAgent.
void events_publish(struct shard *shard, const struct message *message);
// Publishes an event of the hub about a held message. The event goes to users with the right to approve
// (router/features/gate), but not to the message's `source` and `user`. The body is copied.
void events_announce(struct shard *shard, uint64_t source, const struct user *user, const char *name,
                     const struct text *body);
// Returns whether there is room for an event of the hub now.
bool events_may_announce(struct shard *shard);
// Publishes an event about an agent, which goes to peers that may see the agent alone. The body is copied.
void events_announce_agent(struct shard *shard, struct presence_change *change, const char *name,
                           const struct text *body);
// Tells this shard's subscribers that other hubs have lost events, if more were lost since the last time.
void events_report_unknown(struct shard *shard);
// Publishes the shard's run, if there is one. Must be called before any message that isn't the next event of the run.
static inline void events_flush(struct shard *shard) {
    if (shard->event_run.count)
        events_publish_run(shard);
}
// Tells the subscribers that missed events of this shard's sources, if there is room for that now.
void events_report_missed(struct shard *shard);
// Reports missed events, once a turn.
static inline void events_follow(struct shard *shard) {
    if (shard->missed || shard->missed_unnamed)
        events_report_missed(shard);
    events_report_unknown(shard);
}
// Handle MAIL_EVENT and MAIL_EVENT_ACK.
void events_arrived(struct shard *shard, struct mail *mail);
void events_returned(struct shard *shard, struct mail *mail);

// --- Presence

// Events of agents that have come and gone (router/registry/presence.h).

// Publishes noted changes in their order, as long as there is room for events.
void presence_event_publish(struct shard *shard);
// Publishes noted changes, once a turn.
static inline void presence_event_follow(struct shard *shard) {
    const struct presence_queue *queue = &shard->presence;
    if (!list_empty(&queue->changes) || queue->missed_came + queue->missed_went > 0)
        presence_event_publish(shard);
}
