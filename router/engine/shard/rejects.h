// Requests of other shards that a full queue of this shard has refused, until the source's shard knows. A cancel from
// that shard may still be under way here while the refusal is under way there.
//
// The parcel itself is kept in the table while it goes to its owner and back, so no memory is needed, and adding can't
// fail.
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
// Adds a request that is about to go back refused. The parcel stays in the table until rejects_remove.
void rejects_put(struct rejects *rejects, struct parcel *parcel);
void rejects_remove(struct rejects *rejects, struct parcel *parcel);
// Returns whether the request was refused here.
bool rejects_has(const struct rejects *rejects, uint64_t hub_id);
