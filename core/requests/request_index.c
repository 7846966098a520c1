#include "core/requests/request_index.h"

#include <assert.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/base/siphash.h"
#include "core/requests/pending.h"

enum {
    ID_BYTES_MAX = 512, // with room for the slack that reading JSON wants
    SCAN_MAX = 64,      // as many are looked through without a table
};

void request_index_init(struct request_index *index) {
    *index = (struct request_index){0};
    list_init(&index->requests);
}

static void drop_table(struct request_index *index, struct quota *quota) {
    if (!index->buckets)
        return;
    for (size_t at = 0; at < index->bucket_count; at++)
        while (list_take(&index->buckets[at])) {
        }
    quota_give(quota, index->buckets);
    index->buckets = NULL;
}

void request_index_deinit(struct request_index *index, struct quota *quota) {
    assert(list_empty(&index->requests) == (index->kept_bytes == 0));
    drop_table(index, quota);
}

// --- Ids

// An id with slack behind it, which the ids of the table don't have.
struct stored_id {
    uint8_t text[ID_BYTES_MAX];
    struct span span;
};

static bool read_stored(struct stored_id *id, const struct pending *pending) {
    assert(pending->used);
    if ((size_t)pending->id_bytes + BUFFER_SLACK_BYTES > sizeof id->text)
        return false;
    memcpy(id->text, pending->id, pending->id_bytes);
    memset(id->text + pending->id_bytes, 0, BUFFER_SLACK_BYTES);
    id->span = (struct span){0, pending->id_bytes};
    return true;
}

static bool means(const struct pending *pending, const uint8_t *text, struct span id) {
    struct stored_id stored;
    return !pending->cancelled && read_stored(&stored, pending) &&
           json_same(text, id, stored.text, stored.span);
}

// Returns the same hash for all ids that are json_same. An id that is longer than any kept id hashes as it is
// written.
static uint64_t hash_of(const uint8_t *text, struct span id, const struct siphash_key *key) {
    assert(id.bytes > 0);
    char decoded[ID_BYTES_MAX];
    size_t bytes = json_string_decode(text, id, decoded, sizeof decoded);
    uint64_t number;
    if (bytes != SIZE_MAX)
        return siphash_table(key, decoded, bytes);
    if (json_number_whole(text, id, &number))
        return siphash_table(key, &number, sizeof number);
    bytes = json_number_decode(text, id, decoded, sizeof decoded);
    if (bytes != SIZE_MAX)
        return siphash_table(key, decoded, bytes);
    return siphash_table(key, text + id.at, id.bytes);
}

// --- The table

static void push(struct list *bucket, struct list *node) {
    assert(list_empty(node));        // it is in no bucket
    list_append(bucket->next, node); // before the first is behind the head
}

static void request_index_file(struct request_index *index, struct pending *pending,
                               const struct siphash_key *key) {
    struct stored_id id;
    assert(index->buckets && (index->bucket_count & (index->bucket_count - 1)) == 0);
    if (pending->cancelled || !read_stored(&id, pending))
        return;
    push(&index->buckets[hash_of(id.text, id.span, key) & (index->bucket_count - 1)], &pending->by_id);
    index->filed++;
}

static size_t count(const struct request_index *index) {
    size_t count = 0;
    for (const struct list *node = index->requests.next; node != &index->requests; node = node->next)
        count++;
    return count;
}

// Makes the table anew, as large as what is under way wants it; none for a short list. Without memory a table
// that is there stays.
static void request_index_make_table(struct request_index *index, const struct siphash_key *key,
                                     struct quota *quota) {
    size_t requests = count(index);
    uint32_t bucket_count = SCAN_MAX;
    index->filed = 0;
    if (requests <= SCAN_MAX) {
        drop_table(index, quota);
        return;
    }
    while (bucket_count < requests)
        bucket_count *= 2;
    struct list *buckets = quota_take(quota, bucket_count * sizeof *buckets);
    if (!buckets)
        return;
    drop_table(index, quota);
    index->buckets = buckets;
    index->bucket_count = bucket_count;
    for (size_t at = 0; at < bucket_count; at++)
        list_init(&buckets[at]);
    for (struct list *node = index->requests.next; node != &index->requests; node = node->next)
        request_index_file(index, list_entry(node, struct pending, by_source), key);
    assert(index->filed <= requests); // those that are cancelled or too long aren't
}

// --- Asking

void request_index_add(struct request_index *index, struct pending *pending, const struct siphash_key *key,
                       struct quota *quota) {
    assert(pending->used && !pending->source_bytes && list_empty(&pending->by_source));
    index->kept_bytes += pending->bytes;
    pending->source_bytes = &index->kept_bytes;
    list_append(&index->requests, &pending->by_source);
    if (!index->buckets)
        return;
    if (index->filed >= 2 * index->bucket_count)
        request_index_make_table(index, key, quota);
    else
        request_index_file(index, pending, key);
}

static bool is_long(const struct list *list) {
    const struct list *node = list->next;
    for (size_t left = SCAN_MAX; left > 0 && node != list; left--)
        node = node->next;
    return node != list;
}

struct pending *request_index_find(struct request_index *index, const uint8_t *text, struct span id,
                                   const struct siphash_key *key, struct quota *quota) {
    assert(list_empty(&index->requests) == (index->kept_bytes == 0));
    if (!index->buckets && is_long(&index->requests))
        request_index_make_table(index, key, quota);
    if (index->buckets) {
        struct list *bucket = &index->buckets[hash_of(text, id, key) & (index->bucket_count - 1)];
        for (struct list *node = bucket->next; node != bucket; node = node->next)
            if (means(list_entry(node, struct pending, by_id), text, id))
                return list_entry(node, struct pending, by_id);
        return NULL;
    }
    for (struct list *node = index->requests.prev; node != &index->requests; node = node->prev)
        if (means(list_entry(node, struct pending, by_source), text, id))
            return list_entry(node, struct pending, by_source);
    return NULL;
}

void request_index_cancel(struct pending *pending) {
    assert(pending->used && !pending->cancelled); // once a request
    pending->cancelled = true;
    list_remove(&pending->by_id);
}
