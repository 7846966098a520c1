// Requests of other shards that a full queue here didn't take, until the shards that asked know it. Meanwhile
// such a shard may cancel them: its cancel travels towards the target while the refusal travels back.
//
// The parcel itself is what is remembered, on its way to its owner and back once more, so that this takes no
// memory and can't fail.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/send/outbox.h"

enum { UNTAKEN_CHAINS = 256 };

struct untaken {
    struct parcel_list chains[UNTAKEN_CHAINS]; // by hub id
    uint32_t count;
};

void untaken_init(struct untaken *untaken);
// Puts in a request that is about to go home refused; it stays until untaken_remove, wherever it travels.
void untaken_put(struct untaken *untaken, struct parcel *parcel);
void untaken_remove(struct untaken *untaken, struct parcel *parcel);
// Whether this request is one of them.
bool untaken_has(const struct untaken *untaken, uint64_t hub_id);
