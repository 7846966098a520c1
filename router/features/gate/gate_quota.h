// Bounds of held messages. They are a number of messages in the whole hub, and a quarter of the memory; of
// both a quarter is one user's, or where users aren't on one connection's. A large body stays in the buffer
// in which it came. A small one is copied, so that no receive buffer is kept for it.
#pragma once

#include "router/engine/shard/annex.h"
#include "router/engine/shard/shard.h"

// How many bytes holding this frame takes.
uint32_t gate_quota_bytes(const struct frame *frame);
// Counts one more of a peer's, or of its user's, in; where that is over a bound nothing has been counted, and the
// result says which.
uint64_t gate_quota_count(struct shard *shard, const struct annex *annex, const struct user *user,
                          uint32_t bytes);
void gate_quota_uncount(struct shard *shard, const struct user *user, uint32_t bytes);
// Keeps the frame. False without memory.
bool gate_quota_keep(struct shard *shard, struct held_message *held, const struct frame *frame);
