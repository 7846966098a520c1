#include "core/pending.h"

#include <assert.h>
#include <string.h>

#include "core/memory.h"

#define SLOTS_MAX      (UINT32_C(1) << HUB_ID_SLOT_BITS)
#define SLOT_MASK      (SLOTS_MAX - 1)
#define GENERATION_MAX ((UINT32_C(1) << HUB_ID_GENERATION_BITS) - 1)

void pending_table_init(struct pending_table *table, uint32_t shard) {
    assert(shard < SHARDS_MAX);
    *table = (struct pending_table){.shard = shard};
}

void pending_table_deinit(struct pending_table *table) {
    assert(table->count == 0);
    for (uint32_t index = 0; index < table->chunk_count; index++)
        memory_give(table->chunks[index]);
    memory_give(table->chunks);
    *table = (struct pending_table){0};
}

static bool make_room_for_chunk(struct pending_table *table) {
    if (table->chunk_count < table->chunk_capacity)
        return true;
    uint32_t capacity = table->chunk_capacity ? table->chunk_capacity * 2 : 8;
    struct pending **chunks = memory_resize(table->chunks, capacity * sizeof *chunks);
    if (!chunks)
        return false;
    table->chunks = chunks;
    table->chunk_capacity = capacity;
    return true;
}

static void push_free(struct pending_table *table, struct pending *pending) {
    pending->next_free = table->free;
    table->free = pending;
}

static bool add_chunk(struct pending_table *table) {
    if (table->chunk_count * PENDING_CHUNK >= SLOTS_MAX || !make_room_for_chunk(table))
        return false;
    struct pending *chunk = memory_take_zeroed(PENDING_CHUNK, sizeof *chunk);
    if (!chunk)
        return false;
    for (uint32_t index = PENDING_CHUNK; index-- > 0;) {
        chunk[index].slot = table->chunk_count * PENDING_CHUNK + index;
        chunk[index].generation = 1; // so that no hub id is 0
        push_free(table, &chunk[index]);
    }
    table->chunks[table->chunk_count++] = chunk;
    return true;
}

struct pending *pending_add(struct pending_table *table, const void *id, uint32_t id_bytes) {
    if (!table->free && !add_chunk(table))
        return NULL;
    struct pending *pending = table->free;
    pending->id = pending->inline_id;
    if (id_bytes > PENDING_ID_INLINE) {
        pending->id = memory_take(id_bytes);
        if (!pending->id)
            return NULL;
    }
    table->free = pending->next_free;
    table->count++;
    memcpy(pending->id, id, id_bytes);
    pending->id_bytes = id_bytes;
    pending->used = true;
    pending->cancelled = false;
    pending->batch = NULL;
    pending->tokens = NULL;
    pending->outcome = NULL;
    timer_init(&pending->timer, 0);
    list_init(&pending->by_source);
    list_init(&pending->by_id);
    list_init(&pending->by_target);
    return pending;
}

// The texts lie one behind the other.
struct pending_tokens {
    uint32_t bytes[TOKENS_COUNT];
    char texts[];
};

bool pending_keep_tokens(struct pending *pending, const void *const texts[TOKENS_COUNT],
                         const uint32_t bytes[TOKENS_COUNT]) {
    size_t sum = 0;
    for (unsigned which = 0; which < TOKENS_COUNT; which++)
        sum += bytes[which];
    struct pending_tokens *tokens = memory_take(sizeof *tokens + sum);
    if (!tokens)
        return false;
    assert(!pending->tokens);
    char *to = tokens->texts;
    for (unsigned which = 0; which < TOKENS_COUNT; which++) {
        tokens->bytes[which] = bytes[which];
        if (bytes[which])
            memcpy(to, texts[which], bytes[which]);
        to += bytes[which];
    }
    pending->tokens = tokens;
    return true;
}

const char *pending_token(const struct pending *pending, enum pending_token which, uint32_t *bytes) {
    const struct pending_tokens *tokens = pending->tokens;
    if (!tokens || tokens->bytes[which] == 0)
        return NULL;
    const char *text = tokens->texts;
    for (unsigned before = 0; before < which; before++)
        text += tokens->bytes[before];
    *bytes = tokens->bytes[which];
    return text;
}

struct pending *pending_find(const struct pending_table *table, uint64_t hub_id) {
    uint32_t slot = (uint32_t)(hub_id >> HUB_ID_GENERATION_BITS) & SLOT_MASK;
    if (hub_id_shard(hub_id) != table->shard || slot / PENDING_CHUNK >= table->chunk_count)
        return NULL;
    struct pending *pending = &table->chunks[slot / PENDING_CHUNK][slot % PENDING_CHUNK];
    return pending->used && pending->generation == (hub_id & GENERATION_MAX) ? pending : NULL;
}

void pending_end(struct pending_table *table, struct pending *pending) {
    assert(pending->used && !pending->outcome);
    wheel_disarm(&pending->timer);
    list_remove(&pending->by_source);
    list_remove(&pending->by_id);
    list_remove(&pending->by_target);
    if (pending->id != pending->inline_id)
        memory_give(pending->id);
    memory_give(pending->tokens);
    pending->used = false;
    pending->generation = pending->generation == GENERATION_MAX ? 1 : pending->generation + 1;
    table->count--;
    push_free(table, pending);
}

uint64_t pending_hub_id(const struct pending_table *table, const struct pending *pending) {
    return (uint64_t)table->shard << (HUB_ID_SLOT_BITS + HUB_ID_GENERATION_BITS) |
           (uint64_t)pending->slot << HUB_ID_GENERATION_BITS | pending->generation;
}
