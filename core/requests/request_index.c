#include "core/requests/request_index.h"

#include <assert.h>
#include <string.h>

#include "core/base/hash_table.h"
#include "core/base/limits.h"
#include "core/base/quota.h"
#include "core/base/siphash.h"
#include "core/requests/pending.h"

enum {
    ID_BYTES_MAX = 512, // with room for the slack that the JSON reader needs
    SCAN_MAX = 64,      // more requests are looked up in a table
};

struct request_table {
    struct hash_table by_id;
    const struct siphash_key *key;
};

void request_index_init(struct request_index *index) {
    *index = (struct request_index){0};
    list_init(&index->requests);
}

void request_index_deinit(struct request_index *index) {
    assert(list_empty(&index->requests) && index->quota_bytes == 0 && !index->table);
    (void)index;
}

// --- Ids

// An id with slack after it, which the kept ids don't have.
struct stored_id {
    uint8_t text[ID_BYTES_MAX];
    struct span span;
};

static bool read_stored(struct stored_id *id, const struct pending *pending) {
    assert(pending->used);
    if ((size_t)pending->id_bytes + BUFFER_SLACK_BYTES > sizeof id->text)
        return false;
    memcpy(id->text, pending_id(pending), pending->id_bytes);
    memset(id->text + pending->id_bytes, 0, BUFFER_SLACK_BYTES);
    id->span = (struct span){0, pending->id_bytes};
    return true;
}

static bool means(const struct pending *pending, const uint8_t *text, struct span id) {
    struct stored_id stored;
    return !pending->cancelled && read_stored(&stored, pending) &&
           json_same(text, id, stored.text, stored.span);
}

// Returns the same hash for all ids that are json_same. An id that is longer than any kept id is hashed as text.
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

static uint64_t hash_of_pending(const struct hash_table *by_id, const struct hash_node *node) {
    const struct request_table *table = hash_table_entry(by_id, const struct request_table, by_id);
    struct stored_id id;
    if (!read_stored(&id, hash_table_entry(node, struct pending, by_id)))
        assert(false); // else the request isn't in the table
    return hash_of(id.text, id.span, table->key);
}

static void table_drop(struct request_index *index) {
    struct quota *quota = index->table->by_id.quota;
    hash_table_deinit(&index->table->by_id);
    quota_give(quota, index->table);
    index->table = NULL;
}

static void table_add(struct request_table *table, struct pending *pending) {
    if (pending->cancelled || (size_t)pending->id_bytes + BUFFER_SLACK_BYTES > ID_BYTES_MAX)
        return;
    bool is_added = hash_table_add(&table->by_id, &pending->by_id);
    assert(is_added); // the chains have room, though one bucket may have several
    (void)is_added;
}

static void table_remove(struct request_table *table, struct pending *pending) {
    if (pending->by_id.link)
        hash_table_remove(&table->by_id, &pending->by_id);
}

// Makes the table of all requests in the index. Without memory there is no table.
static void table_make(struct request_index *index, const struct siphash_key *key, struct quota *quota) {
    size_t count = 0;
    for (const struct list *node = index->requests.next; node != &index->requests; node = node->next)
        count++;
    index->table = quota_take(quota, sizeof *index->table);
    if (!index->table)
        return;
    index->table->key = key;
    hash_table_init(&index->table->by_id, hash_of_pending, quota);
    if (!hash_table_reserve(&index->table->by_id, count)) {
        table_drop(index);
        return;
    }
    for (struct list *node = index->requests.next; node != &index->requests; node = node->next)
        table_add(index->table, list_entry(node, struct pending, by_source));
    assert(index->table->by_id.count <= count); // cancelled requests and long ids aren't in there
}

// --- Requests

void request_index_add(struct request_index *index, struct pending *pending) {
    assert(pending->used && !pending->index && list_empty(&pending->by_source));
    index->quota_bytes += pending->bytes;
    pending->index = index;
    list_append(&index->requests, &pending->by_source);
    if (index->table)
        table_add(index->table, pending);
}

void request_index_remove(struct pending *pending) {
    struct request_index *index = pending->index;
    if (!index)
        return;
    assert(index->quota_bytes >= pending->bytes);
    index->quota_bytes -= pending->bytes;
    pending->index = NULL;
    list_remove(&pending->by_source);
    if (!index->table)
        return;
    table_remove(index->table, pending);
    if (index->quota_bytes == 0) // requests of a source that has left are in another list
        table_drop(index);
}

static bool is_long(const struct list *list) {
    const struct list *node = list->next;
    for (size_t left = SCAN_MAX; left > 0 && node != list; left--)
        node = node->next;
    return node != list;
}

struct pending *request_index_find(struct request_index *index, const uint8_t *text, struct span id,
                                   const struct siphash_key *key, struct quota *quota) {
    assert(list_empty(&index->requests) == (index->quota_bytes == 0));
    if (!index->table && is_long(&index->requests))
        table_make(index, key, quota);
    if (index->table) {
        struct hash_node *node = hash_table_find(&index->table->by_id, hash_of(text, id, key));
        for (; node; node = node->next)
            if (means(hash_table_entry(node, struct pending, by_id), text, id))
                return hash_table_entry(node, struct pending, by_id);
        return NULL;
    }
    for (struct list *node = index->requests.prev; node != &index->requests; node = node->prev)
        if (means(list_entry(node, struct pending, by_source), text, id))
            return list_entry(node, struct pending, by_source);
    return NULL;
}

void request_index_cancel(struct pending *pending) {
    assert(pending->used && !pending->cancelled); // a request is cancelled once at most
    pending->cancelled = true;
    if (pending->index && pending->index->table)
        table_remove(pending->index->table, pending);
}
