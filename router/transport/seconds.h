// Notifications that have gone to whom they name, an approver or a command: where the server says that nobody is there, they go to whoever
// offers their method. That it says at once: what it has said nothing of when it answers the next PING has come to somebody.
#pragma once

#include "core/base/bins.h"
#include "core/base/list.h"
#include "router/shard/shard.h"

// Of one link.
struct seconds {
    struct shard *shard;
    struct list all; // oldest first
    struct bins by_number;
    uint64_t last; // number
    size_t bytes;  // of them, with what each takes besides
};

void seconds_init(struct seconds *seconds, struct shard *shard);
// The link is lost.
void seconds_forget(struct seconds *seconds);
static inline bool seconds_wait(const struct seconds *seconds) {
    return !list_empty(&seconds->all);
}

// One goes: keeps what goes where nobody is there, and writes its number into the head. Without room for that nothing does.
void seconds_keep(struct seconds *seconds, struct parcel *parcel, uint32_t inbox_bytes);
// Whether some have gone since the last PING: then the next one, of this number, is to be said.
bool seconds_follow(struct seconds *seconds, uint64_t ping);
// So many have been answered.
void seconds_answered(struct seconds *seconds, uint64_t pongs);
// Nobody is there for this one: what goes then. NULL: it isn't known.
struct parcel *seconds_take(struct seconds *seconds, uint64_t number);
