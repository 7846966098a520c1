// An event, or a run of them, on one shard: it is offered to the subscribers that live there.
#pragma once

#include "router/engine/message/message.h"
#include "router/engine/shard/peer.h"
#include "router/engine/shard/publication_types.h"

// Queues the copy's event for each subscriber of its name but the source, once however many patterns match,
// and counts them in the copy; the parcel is let go. A subscriber that can't take it misses it (events.h).
// All receivers share the body: one copy of it is made for all that get one line a body, if it has line
// breaks.
void event_fanout_to_all(struct shard *shard, struct copy *copy);

// --- Publications
//
// How events under way are made.

// The source of a publication: a message, a run, or a body of the hub's.
struct event {
    const struct message *message; // NULL: the run, if there is one
    const struct event_run *run;
    const struct text *body;          // neither: this one of the hub's own
    bool guarded;                     // it is for those who may approve alone (router/features/gate)
    const struct user *guarded_from;  // and not for this user
    struct presence_change *presence; // it is for those who may see this agent; or NULL
    uint64_t source;
    enum governance required;
    struct reply_to to;              // of a request
    struct observation *observation; // of one that is observed; or NULL
    const struct user *user;         // as in struct publication
    uint64_t fanout;
    uint32_t expected;
    uint32_t count;
    uint32_t name_bytes;
    const char *name;
};

// Which shards have subscribers.
struct audience {
    uint32_t count;
    uint8_t shards[SHARDS_MAX];
};
void audience_find(const struct shard *shard, struct audience *audience);

// Takes a publication with room for `copies`, none of which exists yet. The publication's shard gives it back. NULL when
// memory is used up, or the part of the budget that events may take.
struct publication *publication_take(struct shard *shard, const struct event *event, uint32_t copies);
// Takes the same for a missed event: without a run's frames, with room for a copy for each shard. A missed
// event counts in the budget, but finds room there as long as there is memory.
struct publication *publication_take_missed(struct shard *shard, const struct event *event);
// Makes one of the shard's reserve a missed event's; NULL: none of it is left.
struct publication *publication_spare(struct shard *shard, const struct event *event);
void publication_give(struct shard *shard, struct publication *publication);
// Adds a copy for a shard; the parcel is taken over.
void publication_add(struct publication *publication, uint32_t shard, struct parcel *parcel);

// --- Missed events
//
// Events that went nowhere, because a mailbox was full or memory used up. Their subscribers on all shards are
// told that they missed them, when there is room for that. Events of one name and source are told of
// together.
//
// Success: each event is known by its name until then, so that exactly those subscribers are told that would
// have got it. Failure: there is no memory for the names, not even in the shard's reserve. Then those events
// are counted alone, and told to all who subscribed to anything: too much, but not in silence.

// Notes that all of the event's subscribers miss it, for the reason that `counter` names.
void missed_events_add(struct shard *shard, const struct event *event, enum counter counter);
// Takes one out that is to be told, without copies yet, or NULL.
struct publication *missed_events_take(struct shard *shard);
