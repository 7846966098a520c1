// Notifications that have gone to whom they name first, an approver or a command: where the server says that nobody is there, they are
// back on their source's shard (router/engine/message/fallback.h). That it says at once: what it has said nothing of when it answers the next PING
// has come to somebody.
#pragma once

#include "core/base/hash_table.h"
#include "core/base/list.h"
#include "router/engine/shard/shard.h"

// Of one link.
struct seekings {
    struct shard *shard;
    struct list all; // oldest first
    struct hash_table by_number;
    uint64_t last; // number
};

void seeking_init(struct seekings *seekings, struct shard *shard);
// The link is lost, and what became of them isn't known.
void seeking_forget(struct seekings *seekings);
static inline bool seeking_waits(const struct seekings *seekings) {
    return !list_empty(&seekings->all);
}

// One goes: remembers it, and writes its number here into the head. Without room for that it isn't back.
void seeking_begin(struct seekings *seekings, struct parcel *parcel, uint32_t inbox_bytes);
// Whether some have gone since the last PING: then the next one, of this number, is to be said.
bool seeking_follow(struct seekings *seekings, uint64_t ping);
// So many have been answered.
void seeking_answered(struct seekings *seekings, uint64_t pongs);
// Nobody is there for this one. False: it isn't known.
bool seeking_nobody(struct seekings *seekings, uint64_t number);
