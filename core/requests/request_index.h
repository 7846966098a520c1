// Finds the pending request of a source that an id means.
//
// Requests lie in the source's list, oldest first. A cancel means the latest request whose id has the value
// that the cancel names. A short list is looked through. For a long one, a table by the ids' values is made
// at the first search, and kept until the list is empty. A source that doesn't cancel pays nothing for
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

// A table of pending requests by their source's id (struct pending.by_id). Cancelled requests aren't in the table.
struct request_table;

struct request_index {
    struct list requests;        // struct pending.by_source, oldest first
    struct request_table *table; // NULL: there is none
    uint64_t quota_bytes;        // for the requests
};

void request_index_init(struct request_index *index);
// No request may be in the index any more.
void request_index_deinit(struct request_index *index);

// Adds a new request, which is in no source's list. The index counts what is kept for the request.
void request_index_add(struct request_index *index, struct pending *pending);
// Removes a request from its source's index, if the request is in one. Must come before the request ends.
void request_index_remove(struct pending *pending);
// The latest that isn't cancelled and whose id means what `id`, a value of `text`, means (json_same); or
// NULL. `key` is a secret, always the same, and stays. A table is taken on the account `quota`.
struct pending *request_index_find(struct request_index *index, const uint8_t *text, struct span id,
                                   const struct siphash_key *key, struct quota *quota);
// Marks one as cancelled: it isn't found again.
void request_index_cancel(struct pending *pending);
