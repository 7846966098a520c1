// Delivers an event, or a run of events, to the subscribers of one shard.
#pragma once

#include "router/engine/message/message.h"
#include "router/engine/shard/peer.h"
#include "router/engine/shard/publication_types.h"

// Queues the copy's event once for each subscriber of its name but the source. Counts the subscribers in the copy, and
// releases the parcel. A subscriber without room misses the event (events.h). All receivers share the body. For
// receivers of lines, one copy of a body with line breaks is made for all of them.
void event_fanout_to_all(struct shard *shard, struct publication_copy *copy);

// --- Publications
//
// How publications are made.

// The event of a publication: a message, a run, or a body that the hub has written.
struct event {
    const struct message *message; // NULL: the event is `run` or `body`
    const struct event_run *run;
    const struct text *body;          // of an event of the hub itself
    bool guarded;                     // goes to users with the right to approve alone (router/features/gate)
    const struct user *guarded_from;  // with `guarded`: goes not to this user
    struct presence_change *presence; // goes to peers that may see this agent alone; or NULL
    uint64_t source;
    enum governance required;
    struct reply_to to;              // of a request that publishes
    struct observation *observation; // of an event that is observed; or NULL
    const struct user *user;         // as in struct publication
    uint64_t fanout;
    uint32_t expected;
    uint32_t count;
    uint32_t name_bytes;
    const char *name;
};

// The shards with subscribers.
struct audience {
    uint32_t count;
    uint8_t shards[SHARDS_MAX];
};
void audience_find(const struct shard *shard, struct audience *audience);

// Makes a publication with room for `copies`, without any copy. The same shard must give the publication back. Returns
// NULL without memory, or when events have used up their part of the budget.
struct publication *publication_take(struct shard *shard, const struct event *event, uint32_t copies);
// Makes a publication of a missed event: without the frames of a run, with room for a copy for each shard. A missed
// event counts in the budget, but may exceed the events' part.
struct publication *publication_take_missed(struct shard *shard, const struct event *event);
// Makes a publication of a missed event from the shard's reserve. Returns NULL if the reserve is used up.
struct publication *publication_spare(struct shard *shard, const struct event *event);
void publication_give(struct shard *shard, struct publication *publication);
// Adds a copy for a shard. Takes the parcel.
void publication_add(struct publication *publication, uint32_t shard, struct parcel *parcel);

// --- Missed events
//
// Events that could not be delivered, because a mailbox was full or memory used up. The subscribers on all shards are
// told of the loss when there is room for that, by one message for events of one name and source.
//
// The shard keeps the name of each missed event until then, so that exactly the subscribers of that name are told. If
// there is no memory for the name, not even in the shard's reserve, then the event is only counted, and every
// subscriber of any event is told.

// Notes that all subscribers miss the event. `counter` names the reason.
void missed_events_add(struct shard *shard, const struct event *event, enum counter counter);
// Takes a missed event, without copies, of which subscribers must be told; or NULL.
struct publication *missed_events_take(struct shard *shard);
