// Chunks and other frames that a session keeps, within the bounds of one session and of a shard's all.
#pragma once

#include "router/features/hcs/hcs_types.h"

// Returns the parcel to be kept for long in place of a frame: a copy of a small one, which needs no buffer;
// else itself.
struct parcel *hcs_retention_copy(struct shard *shard, struct parcel *parcel);
// Adds a chunk whose seq rises; false without memory: then it isn't kept, and the caller has it still.
bool hcs_retention_add(struct shard *shard, struct hcs_session *session, struct parcel *parcel, uint64_t seq);
// Forgets the oldest, down to the bounds.
void hcs_retention_bound(struct shard *shard, struct hcs_session *session);
// Forgets all of them.
void hcs_retention_forget(struct shard *shard, struct hcs_session *session);
// Gives memory back: histories of sessions that have ended, the oldest first, then half of each other one.
void hcs_retention_relieve(struct shard *shard);
