// Notifications that have gone to whom they name first, an approver or a command: where the server says that nobody is there, they are
// back on their source's shard (router/engine/message/fallback.h). That it says at once: what it has said nothing of when it answers the next PING
// has come to somebody.
#pragma once

#include "core/base/hash_table.h"
#include "core/base/list.h"
#include "router/engine/shard/shard.h"

// Of one link.
struct fallback_watch {
    struct shard *shard;
    struct list all; // oldest first
    struct hash_table by_number;
    uint64_t last; // number
};

void fallback_watch_init(struct fallback_watch *fallback_watch, struct shard *shard);
// The link is lost, and what became of them isn't known.
void fallback_watch_forget(struct fallback_watch *fallback_watch);
static inline bool fallback_watch_waits(const struct fallback_watch *fallback_watch) {
    return !list_empty(&fallback_watch->all);
}

// One goes: remembers it, and writes its number here into the head. Without room for that it isn't back.
void fallback_watch_begin(struct fallback_watch *fallback_watch, struct parcel *parcel, uint32_t inbox_bytes);
// Whether some have gone since the last PING: then the next one, of this number, is to be said.
bool fallback_watch_follow(struct fallback_watch *fallback_watch, uint64_t ping);
// So many have been answered.
void fallback_watch_answered(struct fallback_watch *fallback_watch, uint64_t pongs);
// Nobody is there for this one. False: it isn't known.
bool fallback_watch_nobody(struct fallback_watch *fallback_watch, uint64_t number);
