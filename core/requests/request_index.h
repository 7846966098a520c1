// Finds a pending request by the id that its source has given.
//
// A source's requests are in a list, oldest first. A cancel means the latest request whose id has the same value. A
// short list is searched. For a long list the first search makes a table by the ids' values, which is kept until the
// list is empty. So a source that doesn't cancel pays nothing, and a source that cancels takes no more of its shard's
// time than others, with any number of pending requests. Without memory for the table the list is searched.
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
    struct list requests;        // of struct pending.by_source, oldest first
    struct request_table *table; // NULL: there is none
    uint64_t quota_bytes;        // quota of the requests
};

void request_index_init(struct request_index *index);
// Frees the index. No request may be in the index any more.
void request_index_deinit(struct request_index *index);

// Adds a new request, which must be in no source's list. The index counts the request's quota.
void request_index_add(struct request_index *index, struct pending *pending);
// Removes a request from its source's index, if the request is in one. Must come before the request ends.
void request_index_remove(struct pending *pending);
// Returns the latest request that isn't cancelled and whose id equals `id`, a value of `text` (json_same); or NULL.
// `key` is secret, always the same, and must outlive the index. A table is taken from `quota`.
struct pending *request_index_find(struct request_index *index, const uint8_t *text, struct span id,
                                   const struct siphash_key *key, struct quota *quota);
// Marks a request as cancelled, so that it isn't found again.
void request_index_cancel(struct pending *pending);
