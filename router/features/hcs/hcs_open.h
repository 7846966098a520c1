// How a start becomes a client of a session: of one that there is, or of a new one, for which a producer is
// chosen.
#pragma once

#include <assert.h>

#include "core/base/limits.h"
#include "router/features/hcs/hcs_types.h"

// The name of a session's start while it waits in its producer's queue (struct parcel): above all marks of
// clients, and all hub ids.
#define HCS_OPEN_ID_BIT ((uint64_t)1 << 63)
static inline uint64_t hcs_open_id(uint32_t shard, uint64_t handle) {
    assert(shard < SHARDS_MAX && handle < HCS_OPEN_ID_BIT >> HUB_ID_SHARD_BITS);
    return HCS_OPEN_ID_BIT | handle << HUB_ID_SHARD_BITS | shard;
}
static inline bool hcs_open_is_id(uint64_t id) {
    return id & HCS_OPEN_ID_BIT;
}

// HCS_MAIL_JOIN.
void hcs_open_join(struct shard *shard, struct hcs_client *client);
// HCS_MAIL_START, on the producer's shard; and HCS_MAIL_TURNED.
void hcs_open_arrived(struct shard *shard, struct parcel *parcel);
void hcs_open_turned(struct shard *shard, struct parcel *parcel);
