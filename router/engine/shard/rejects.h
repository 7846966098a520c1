// Requests of other shards that a full queue here didn't take, until the shards that asked know it. Meanwhile
// such a shard may cancel them: its cancel travels towards the target while the refusal travels back.
//
// The parcel itself is what is remembered, on its way to its owner and back once more, so that this takes no
// memory and can't fail.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/send/outbox.h"

enum { REJECTS_CHAINS = 256 };

struct rejects {
    struct parcel_list buckets[REJECTS_CHAINS]; // by hub id
    uint32_t count;
};

void rejects_init(struct rejects *rejects);
// Puts in a request that is about to go home refused; it stays until rejects_remove, wherever it travels.
void rejects_put(struct rejects *rejects, struct parcel *parcel);
void rejects_remove(struct rejects *rejects, struct parcel *parcel);
// Whether this request is one of them.
bool rejects_has(const struct rejects *rejects, uint64_t hub_id);
