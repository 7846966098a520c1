#include "core/requests/pending.h"

#include <assert.h>
#include <stdalign.h>
#include <string.h>

#define SLOT_MASK      ((UINT32_C(1) << HUB_ID_SLOT_BITS) - 1)
#define GENERATION_MAX ((UINT32_C(1) << HUB_ID_GENERATION_BITS) - 1)

// The most chunks that are given back at a time. Each takes microseconds, since all of its slots are read.
enum { SHRINK_CHUNKS_MAX = 256 };

void pending_table_init(struct pending_table *table, uint32_t shard, struct quota *quota) {
    assert(shard < SHARDS_MAX);
    *table = (struct pending_table){.shard = shard, .quota = quota};
}

void pending_table_deinit(struct pending_table *table) {
    assert(table->count == 0);
    for (uint32_t index = 0; index < table->chunk_count; index++)
        quota_give(table->quota, table->chunks[index].slots);
    quota_give(table->quota, table->chunks);
    pending_table_init(table, table->shard, table->quota);
}

// --- Chunks

static void set_open(struct pending_table *table, uint32_t index) {
    assert(index < PENDING_CHUNKS_MAX && table->chunks[index].slots);
    table->open[index / 64] |= UINT64_C(1) << index % 64;
}

static void set_full(struct pending_table *table, uint32_t index) {
    assert(index < table->chunk_count && !table->chunks[index].free);
    table->open[index / 64] &= ~(UINT64_C(1) << index % 64);
}

static bool make_room_for_chunk(struct pending_table *table) {
    if (table->chunk_count < table->chunk_capacity)
        return true;
    uint32_t capacity = table->chunk_capacity ? table->chunk_capacity * 2 : 8;
    struct pending_chunk *chunks = quota_resize(table->quota, table->chunks, capacity * sizeof *chunks);
    if (!chunks)
        return false;
    table->chunks = chunks;
    table->chunk_capacity = capacity;
    return true;
}

static bool fill_chunk(struct pending_table *table, uint32_t index) {
    struct pending_chunk *chunk = &table->chunks[index];
    assert(!chunk->slots && chunk->used == 0 && chunk->generation > 0);
    struct pending *slots =
        quota_take_aligned(table->quota, alignof(struct pending), PENDING_CHUNK * sizeof *slots);
    if (!slots)
        return false;
    chunk->slots = slots;
    for (uint32_t at = PENDING_CHUNK; at-- > 0;) {
        slots[at].slot = index * PENDING_CHUNK + at;
        slots[at].generation = chunk->generation & GENERATION_MAX;
        slots[at].next_free = chunk->free;
        chunk->free = &slots[at];
    }
    table->empty++;
    table->current = index;
    set_open(table, index);
    return true;
}

// Adds a chunk: one that was given back, or a new one.
static bool add_chunk(struct pending_table *table) {
    for (uint32_t index = 0; table->absent && index < table->chunk_count; index++) {
        if (table->chunks[index].slots)
            continue;
        bool is_filled = fill_chunk(table, index);
        table->absent -= is_filled;
        return is_filled;
    }
    assert(table->absent == 0);
    if (table->chunk_count == PENDING_CHUNKS_MAX || !make_room_for_chunk(table))
        return false;
    uint32_t index = table->chunk_count;
    table->chunks[index] = (struct pending_chunk){.generation = 1}; // so that no hub id is 0
    if (!fill_chunk(table, index))
        return false;
    table->chunk_count++;
    return true;
}

// Makes the first chunk with a free slot current, so that later chunks become empty. Returns false if all are full.
static bool find_open(struct pending_table *table) {
    for (uint32_t word = 0; word * 64 < table->chunk_count; word++)
        if (table->open[word]) {
            table->current = word * 64 + (uint32_t)__builtin_ctzll(table->open[word]);
            assert(table->chunks[table->current].free);
            return true;
        }
    return false;
}

static struct pending_chunk *chunk_with_room(struct pending_table *table) {
    if (table->chunk_count && table->chunks[table->current].free)
        return &table->chunks[table->current];
    return find_open(table) || add_chunk(table) ? &table->chunks[table->current] : NULL;
}

// --- Giving chunks back

bool pending_table_has_unused(const struct pending_table *table) {
    return table->empty > (table->chunk_count && table->chunks[0].used == 0 ? 1 : 0);
}

static uint32_t steps_between(uint32_t generation, uint32_t later) {
    assert(generation > 0 && generation <= GENERATION_MAX && later > 0 && later <= GENERATION_MAX);
    return later >= generation ? later - generation : GENERATION_MAX - generation + later;
}

// Sets the generation for the next use of the chunk: that of the slot ahead of all others. The other slots have never
// had this generation, or not for very long. Returns false if the generations are too far apart to tell which is ahead.
static bool choose_generation(struct pending_chunk *chunk) {
    uint32_t ahead = chunk->slots[0].generation, behind = ahead;
    for (uint32_t at = 1; at < PENDING_CHUNK; at++) {
        uint32_t generation = chunk->slots[at].generation;
        if (steps_between(behind, generation) > GENERATION_MAX / 2)
            behind = generation;
        else if (steps_between(ahead, generation) < GENERATION_MAX / 2)
            ahead = generation;
        if (steps_between(behind, ahead) >= GENERATION_MAX / 2)
            return false;
    }
    chunk->generation = ahead;
    return true;
}

static void give_back(struct pending_table *table, uint32_t index) {
    struct pending_chunk *chunk = &table->chunks[index];
    assert(index > 0 && chunk->slots && chunk->used == 0 && table->empty > 0);
    table->empty--;
    if (!choose_generation(chunk)) {
        chunk->spread = true;
        return;
    }
    quota_give(table->quota, chunk->slots);
    chunk->slots = chunk->free = NULL;
    table->absent++;
    set_full(table, index);
}

void pending_table_shrink(struct pending_table *table) {
    uint32_t left = SHRINK_CHUNKS_MAX;
    (void)find_open(table); // new requests go to the front
    for (uint32_t index = 1; index < table->chunk_count && left > 0; index++) {
        struct pending_chunk *chunk = &table->chunks[index];
        if (!chunk->slots || chunk->used || chunk->spread)
            continue;
        if (chunk->idle) {
            give_back(table, index);
            left--;
        }
        chunk->idle = true;
    }
}

// --- Requests

static struct pending *take_slot(struct pending_table *table, struct pending_chunk *chunk) {
    struct pending *pending = chunk->free;
    assert(pending && !pending->used);
    chunk->free = pending->next_free;
    if (!chunk->free)
        set_full(table, table->current);
    if (chunk->free) { // the next request takes this slot
        prefetch_to_write(chunk->free, offsetof(struct pending, outcome));
        prefetch_to_write(chunk->free->method, 1);
    }
    if (chunk->used++ == 0) {
        table->empty -= !chunk->spread;
        chunk->idle = chunk->spread = false;
    }
    table->count++;
    return pending;
}

static void give_slot(struct pending_table *table, struct pending *pending) {
    uint32_t index = pending->slot / PENDING_CHUNK;
    struct pending_chunk *chunk = &table->chunks[index];
    assert(!pending->used && chunk->used > 0 && table->count >= chunk->used);
    if (!chunk->free)
        set_open(table, index);
    pending->next_free = chunk->free;
    chunk->free = pending;
    if (--chunk->used == 0)
        table->empty++;
    table->count--;
}

struct pending *pending_add(struct pending_table *table, const void *id, uint32_t id_bytes) {
    struct pending_chunk *chunk = chunk_with_room(table);
    assert(id_bytes <= UINT16_MAX);
    if (!chunk)
        return NULL;
    char *own_id = NULL;
    if (id_bytes > PENDING_ID_INLINE) {
        own_id = quota_take(table->quota, id_bytes);
        if (!own_id)
            return NULL;
    }
    struct pending *pending = take_slot(table, chunk);
    if (own_id)
        pending->own_id = own_id;
    memcpy(own_id ? own_id : pending->inline_id, id, id_bytes);
    pending->id_bytes = (uint16_t)id_bytes;
    pending->named_target_bytes = 0;
    pending->bytes = sizeof *pending + (own_id ? id_bytes : 0);
    pending->index = NULL;
    pending->state = pending->generation | PENDING_USED;
    assert(pending->used && !pending->has_rare && !pending->cancelled);
    pending->agent = 0;
    pending->level = 0;
    pending->exchange = NULL;
    pending->account = NULL;
    pending->latency = NULL;
    timer_init(&pending->timer, 0);
    list_init(&pending->by_source);
    list_init(&pending->by_target);
    return pending;
}

// Kept tokens, one after the other.
struct pending_tokens {
    uint32_t bytes[TOKENS_COUNT];
    char texts[];
};

bool pending_keep_tokens(struct pending_table *table, struct pending *pending,
                         const void *const texts[TOKENS_COUNT], const uint32_t bytes[TOKENS_COUNT]) {
    size_t sum = 0;
    for (unsigned which = 0; which < TOKENS_COUNT; which++)
        sum += bytes[which];
    struct pending_tokens *tokens = quota_take(table->quota, sizeof *tokens + sum);
    if (!tokens)
        return false;
    assert(!pending->tokens && !pending->index);
    pending->bytes += (uint32_t)(sizeof *tokens + sum);
    char *to = tokens->texts;
    for (unsigned which = 0; which < TOKENS_COUNT; which++) {
        tokens->bytes[which] = bytes[which];
        if (bytes[which])
            memcpy(to, texts[which], bytes[which]);
        to += bytes[which];
    }
    pending_mark_rare(pending);
    pending->tokens = tokens;
    return true;
}

bool pending_keep_named_target(struct pending_table *table, struct pending *pending, char kind,
                               const void *name, uint32_t name_bytes) {
    uint32_t bytes = 1 + name_bytes, all = pending->id_bytes + bytes;
    char *id = (char *)(uintptr_t)pending_id(pending);
    assert(pending->named_target_bytes == 0 && !pending->index && bytes <= UINT16_MAX);
    if (all > PENDING_ID_INLINE) {
        char *own = quota_take(table->quota, all);
        if (!own)
            return false;
        memcpy(own, id, pending->id_bytes);
        pending->bytes += id == pending->inline_id ? all : bytes;
        if (id != pending->inline_id)
            quota_give(table->quota, id);
        pending->own_id = id = own;
    }
    id[pending->id_bytes] = kind;
    memcpy(id + pending->id_bytes + 1, name, name_bytes);
    pending->named_target_bytes = (uint16_t)bytes;
    return true;
}

const char *pending_token(const struct pending *pending, enum pending_token kind, uint32_t *bytes) {
    assert(pending->used && kind < TOKENS_COUNT);
    const struct pending_tokens *tokens = pending->tokens;
    if (!tokens || tokens->bytes[kind] == 0)
        return NULL;
    const char *text = tokens->texts;
    for (unsigned before = 0; before < kind; before++)
        text += tokens->bytes[before];
    *bytes = tokens->bytes[kind];
    return text;
}

struct pending *pending_find(const struct pending_table *table, uint64_t hub_id) {
    uint32_t slot = (uint32_t)(hub_id >> HUB_ID_GENERATION_BITS) & SLOT_MASK;
    if (hub_id_shard(hub_id) != table->shard || slot / PENDING_CHUNK >= table->chunk_count)
        return NULL;
    struct pending *slots = table->chunks[slot / PENDING_CHUNK].slots;
    struct pending *pending = slots ? &slots[slot % PENDING_CHUNK] : NULL;
    return pending && pending->used && pending->generation == (hub_id & GENERATION_MAX) ? pending : NULL;
}

static __attribute__((noinline)) void end_rare(struct pending_table *table, struct pending *pending) {
    assert(!pending->outcome && !pending->copy && pending->has_rare);
    quota_give(table->quota, pending->tokens);
    quota_give(table->quota, pending->remote_end);
    pending->tokens = NULL;
    pending->remote_end = NULL;
    pending->observation = NULL;
    pending->has_rare = false;
}

void pending_end(struct pending_table *table, struct pending *pending) {
    assert(pending->used && !pending->index && !pending->by_id.link &&
           (pending->has_rare || pending_is_plain(pending)));
    assert(pending_find(table, pending_hub_id(table, pending)) == pending); // `pending` belongs to this table
    wheel_disarm(&pending->timer);
    list_remove(&pending->by_source);
    list_remove(&pending->by_target);
    if (pending_id(pending) != pending->inline_id)
        quota_give(table->quota, pending->own_id);
    if (__builtin_expect(pending->has_rare, false))
        end_rare(table, pending);
    pending->state = pending->generation == GENERATION_MAX ? 1 : pending->generation + 1;
    assert(!pending->used);
    give_slot(table, pending);
}

uint64_t pending_hub_id(const struct pending_table *table, const struct pending *pending) {
    assert(pending->used && pending->generation > 0 && pending->slot <= SLOT_MASK);
    return (uint64_t)table->shard << (HUB_ID_SLOT_BITS + HUB_ID_GENERATION_BITS) |
           (uint64_t)pending->slot << HUB_ID_GENERATION_BITS | pending->generation;
}
