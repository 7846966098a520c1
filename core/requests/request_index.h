// Finds the pending request of a source that an id means.
//
// Requests lie in the source's list, oldest first. A cancel means the latest request whose id has the value
// that the cancel names. A short list is looked through. For a long one, a table by the ids' values is made
// at the first search, and kept until the list is short again. A source that doesn't cancel pays nothing for
// it. A source that cancels, with any number of pending requests, takes no more of its shard's time than
// others. Without memory for the table the list is looked through.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/list.h"
#include "core/base/quota.h"
#include "core/json/json.h"

struct pending;
struct siphash_key;

struct request_index {
    struct list requests;  // struct pending.by_source, oldest first
    struct list *buckets;  // of struct pending.by_id, the latest first; NULL: there is no table
    uint32_t bucket_count; // a power of two
    uint32_t filed;        // since the table was made
    uint64_t kept_bytes;   // for the requests
};

void request_index_init(struct request_index *index);
// Gives the table back, on the account that it was taken on. The requests themselves belong to the list's
// owner.
void request_index_deinit(struct request_index *index, struct quota *quota);

// Puts in a new request, which is in no source's list. pending_end takes it out. A table is taken on the
// account `quota`.
void request_index_add(struct request_index *index, struct pending *pending, const struct siphash_key *key,
                       struct quota *quota);
// The latest that isn't cancelled and whose id means what `id`, a value of `text`, means (json_same); or
// NULL. `key` is a secret, and always the same.
struct pending *request_index_find(struct request_index *index, const uint8_t *text, struct span id,
                                   const struct siphash_key *key, struct quota *quota);
// Marks one as cancelled: it isn't found again.
void request_index_cancel(struct pending *pending);
