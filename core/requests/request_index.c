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

void request_index_init(struct request_index *asked) {
    *asked = (struct request_index){0};
    list_init(&asked->requests);
}

static void drop_table(struct request_index *asked, struct quota *kept) {
    if (!asked->buckets)
        return;
    for (size_t index = 0; index < asked->bucket_count; index++)
        while (list_take(&asked->buckets[index])) {
        }
    quota_give(kept, asked->buckets);
    asked->buckets = NULL;
}

void request_index_deinit(struct request_index *asked, struct quota *kept) {
    assert(list_empty(&asked->requests) == (asked->kept_bytes == 0));
    drop_table(asked, kept);
}

// --- Ids

// An id with slack behind it, which the ids of the table don't have.
struct kept_id {
    uint8_t text[ID_BYTES_MAX];
    struct span span;
};

static bool read_kept(struct kept_id *id, const struct pending *pending) {
    assert(pending->used);
    if ((size_t)pending->id_bytes + BUFFER_SLACK_BYTES > sizeof id->text)
        return false;
    memcpy(id->text, pending->id, pending->id_bytes);
    memset(id->text + pending->id_bytes, 0, BUFFER_SLACK_BYTES);
    id->span = (struct span){0, pending->id_bytes};
    return true;
}

static bool means(const struct pending *pending, const uint8_t *text, struct span id) {
    struct kept_id kept;
    return !pending->cancelled && read_kept(&kept, pending) && json_same(text, id, kept.text, kept.span);
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

static void request_index_file(struct request_index *asked, struct pending *pending,
                               const struct siphash_key *key) {
    struct kept_id id;
    assert(asked->buckets && (asked->bucket_count & (asked->bucket_count - 1)) == 0);
    if (pending->cancelled || !read_kept(&id, pending))
        return;
    push(&asked->buckets[hash_of(id.text, id.span, key) & (asked->bucket_count - 1)], &pending->by_id);
    asked->filed++;
}

static size_t count(const struct request_index *asked) {
    size_t count = 0;
    for (const struct list *node = asked->requests.next; node != &asked->requests; node = node->next)
        count++;
    return count;
}

// Makes the table anew, as large as what is under way wants it; none for a short list. Without memory a table
// that is there stays.
static void request_index_make_table(struct request_index *asked, const struct siphash_key *key,
                                     struct quota *kept) {
    size_t requests = count(asked);
    uint32_t bucket_count = SCAN_MAX;
    asked->filed = 0;
    if (requests <= SCAN_MAX) {
        drop_table(asked, kept);
        return;
    }
    while (bucket_count < requests)
        bucket_count *= 2;
    struct list *buckets = quota_take(kept, bucket_count * sizeof *buckets);
    if (!buckets)
        return;
    drop_table(asked, kept);
    asked->buckets = buckets;
    asked->bucket_count = bucket_count;
    for (size_t index = 0; index < bucket_count; index++)
        list_init(&buckets[index]);
    for (struct list *node = asked->requests.next; node != &asked->requests; node = node->next)
        request_index_file(asked, list_entry(node, struct pending, by_source), key);
    assert(asked->filed <= requests); // those that are cancelled or too long aren't
}

// --- Asking

void request_index_add(struct request_index *asked, struct pending *pending, const struct siphash_key *key,
                       struct quota *kept) {
    assert(pending->used && !pending->source_bytes && list_empty(&pending->by_source));
    asked->kept_bytes += pending->bytes;
    pending->source_bytes = &asked->kept_bytes;
    list_append(&asked->requests, &pending->by_source);
    if (!asked->buckets)
        return;
    if (asked->filed >= 2 * asked->bucket_count)
        request_index_make_table(asked, key, kept);
    else
        request_index_file(asked, pending, key);
}

static bool is_long(const struct list *list) {
    const struct list *node = list->next;
    for (size_t left = SCAN_MAX; left > 0 && node != list; left--)
        node = node->next;
    return node != list;
}

struct pending *request_index_find(struct request_index *asked, const uint8_t *text, struct span id,
                                   const struct siphash_key *key, struct quota *kept) {
    assert(list_empty(&asked->requests) == (asked->kept_bytes == 0));
    if (!asked->buckets && is_long(&asked->requests))
        request_index_make_table(asked, key, kept);
    if (asked->buckets) {
        struct list *bucket = &asked->buckets[hash_of(text, id, key) & (asked->bucket_count - 1)];
        for (struct list *node = bucket->next; node != bucket; node = node->next)
            if (means(list_entry(node, struct pending, by_id), text, id))
                return list_entry(node, struct pending, by_id);
        return NULL;
    }
    for (struct list *node = asked->requests.prev; node != &asked->requests; node = node->prev)
        if (means(list_entry(node, struct pending, by_source), text, id))
            return list_entry(node, struct pending, by_source);
    return NULL;
}

void request_index_cancel(struct pending *pending) {
    assert(pending->used && !pending->cancelled); // once a request
    pending->cancelled = true;
    list_remove(&pending->by_id);
}
