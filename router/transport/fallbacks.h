// Notifications that have gone to whom they name, an approver or a command: where the server says that nobody is there, they go to whoever
// offers their method. That it says at once: what it has said nothing of when it answers the next PING has come to somebody.
#pragma once

#include "core/base/bins.h"
#include "core/base/list.h"
#include "router/shard/shard.h"

// Of one link.
struct fallbacks {
    struct shard *shard;
    struct list all; // oldest first
    struct bins by_number;
    uint64_t last; // number
    size_t bytes;  // of them, with what each takes besides
};

void fallbacks_init(struct fallbacks *fallbacks, struct shard *shard);
// The link is lost.
void fallbacks_forget(struct fallbacks *fallbacks);
static inline bool fallbacks_wait(const struct fallbacks *fallbacks) {
    return !list_empty(&fallbacks->all);
}

// One goes: keeps what goes where nobody is there, and writes its number into the head. Without room for that nothing does.
void fallbacks_keep(struct fallbacks *fallbacks, struct parcel *parcel, uint32_t inbox_bytes);
// Whether some have gone since the last PING: then the next one, of this number, is to be said.
bool fallbacks_follow(struct fallbacks *fallbacks, uint64_t ping);
// So many have been answered.
void fallbacks_answered(struct fallbacks *fallbacks, uint64_t pongs);
// Nobody is there for this one: what goes then. NULL: it isn't known.
struct parcel *fallbacks_take(struct fallbacks *fallbacks, uint64_t number);
