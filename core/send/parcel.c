#include "core/send/parcel.h"

#include <assert.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/base/text.h"

// Parcels at rest beyond this many go back to the allocator.
enum { FREE_COUNT_MAX = 16 * 1024, UNSETTLED_MAX = 64 * 1024 };

void parcel_pool_init(struct parcel_pool *pool, struct buffer_budget *budget, uint32_t shard) {
    assert(shard < SHARDS_MAX);
    *pool = (struct parcel_pool){.budget = budget, .shard = shard};
}

static void parcel_unmake(struct parcel *parcel) {
    assert(parcel->pool->made > 0);
    buffer_budget_give(parcel->pool->budget, memory_bytes_for(sizeof *parcel));
    parcel->pool->made--;
    memory_give(parcel);
}

static void parcel_settle(struct parcel_pool *pool) {
    atomic_fetch_add_explicit(&pool->budget->bytes, (uint64_t)pool->unsettled, memory_order_relaxed);
    pool->unsettled = 0;
}

// The budget is shared by all shards, so that it costs more than most texts: it is told of many at a
// time.
void parcel_pool_count(struct parcel_pool *pool, int64_t bytes) {
    pool->unsettled += bytes;
    if (pool->unsettled > UNSETTLED_MAX || pool->unsettled < -UNSETTLED_MAX)
        parcel_settle(pool);
}

static void parcel_keep(struct parcel_pool *pool, uint32_t count) {
    assert(count <= pool->free_count);
    struct parcel **rest = &pool->free;
    for (uint32_t index = 0; index < count; index++)
        rest = &(*rest)->next;
    for (struct parcel *parcel; (parcel = *rest);) {
        *rest = parcel->next;
        parcel_unmake(parcel);
    }
    pool->idle_count = pool->free_count = count;
}

void parcel_pool_trim(struct parcel_pool *pool) {
    parcel_keep(pool, 0);
}

void parcel_pool_shrink(struct parcel_pool *pool) {
    assert(pool->idle_count <= pool->free_count);
    parcel_keep(pool, pool->free_count - pool->idle_count);
}

void parcel_pool_deinit(struct parcel_pool *pool) {
    assert(parcel_pool_full(pool));
    parcel_pool_trim(pool);
    parcel_settle(pool);
}

bool parcel_pool_full(const struct parcel_pool *pool) {
    assert(pool->free_count <= pool->made);
    return pool->free_count == pool->made;
}

// Text of the parcel's own.
static void disown(struct parcel *parcel) {
    if (parcel->text != parcel->inline_text) {
        parcel_pool_count(parcel->pool, -(int64_t)parcel->text_bytes);
        memory_give(parcel->text);
    }
    if (parcel->long_head) {
        parcel_pool_count(parcel->pool, -(int64_t)parcel->head_text_bytes);
        memory_give(parcel->head);
    }
}

// Seldom: one at rest is mostly there.
static __attribute__((noinline)) struct parcel *parcel_make(struct parcel_pool *pool, enum budget_use use) {
    size_t bytes = memory_bytes_for(sizeof(struct parcel));
    if (!buffer_budget_take(pool->budget, bytes, use))
        return NULL;
    struct parcel *parcel = memory_take(sizeof *parcel);
    if (!parcel) {
        buffer_budget_give(pool->budget, bytes);
        return NULL;
    }
    parcel->pool = pool;
    pool->made++;
    return parcel;
}

// One at rest is counted already.
static struct parcel *parcel_take(struct parcel_pool *pool, enum budget_use use) {
    struct parcel *parcel = pool->free;
    assert(!parcel == (pool->free_count == 0));
    // What it will refer to, or have as text, is memory, too.
    if (parcel && use == BUDGET_PLENTY && !buffer_budget_has_room(pool->budget, 0, use))
        return NULL;
    if (parcel) {
        pool->free = parcel->next;
        parcel_fetch(pool->free);
        if (--pool->free_count < pool->idle_count)
            pool->idle_count = pool->free_count;
    } else {
        parcel = parcel_make(pool, use);
        if (!parcel)
            return NULL;
    }
    parcel->mail.came_us = pool->now_us;
    parcel->next = NULL;
    parcel->link = NULL;
    parcel->buffer = NULL;
    parcel->origin = NULL;
    parcel->text = parcel->inline_text;
    parcel->hub_id = 0;
    parcel->of_stream = false;
    parcel->bytes = 0;
    parcel->frames = 1;
    parcel->shares = 0;
    parcel->lane = LANE_NORMAL;
    parcel->block = NULL;
    parcel->has_added = false;
    parcel->head_bytes = 0;
    parcel->head_fields = 0;
    parcel->for_many = false;
    parcel->returns = false;
    parcel->is_sought = false;
    parcel->piece_count = 0;
    parcel->hole_count = 0;
    parcel->bound = false;
    parcel->canonical = false;
    parcel->unfinished = false;
    parcel->dressed = false;
    parcel->has_head = false;
    parcel->long_head = false;
    parcel->breaks = BREAKS_PASS;
    parcel->note = 0;
    return parcel;
}

struct parcel *parcel_drop(struct parcel *parcel) {
    struct parcel_pool *pool = parcel->pool;
    struct parcel *origin = parcel->origin;
    assert(parcel->shares == 0 && !parcel->link); // nobody has a share of it, and no list has it
    buffer_drop(parcel->buffer);
    disown(parcel);
    if (pool->free_count >= FREE_COUNT_MAX) {
        parcel_unmake(parcel);
        return origin;
    }
    parcel->next = pool->free;
    pool->free = parcel;
    pool->free_count++;
    return origin;
}

static inline void parcel_add(struct parcel *parcel, const uint8_t *bytes, size_t count) {
    if (count == 0)
        return;
    assert(parcel->piece_count < PARCEL_PIECES_MAX);
    parcel->bytes += count;
    parcel->pieces[parcel->piece_count++] = (struct piece){.bytes = bytes, .count = count};
}

static struct parcel *take_for(struct parcel_pool *pool, struct buffer *buffer, enum budget_use use) {
    struct parcel *parcel = parcel_take(pool, use);
    if (parcel) {
        buffer_hold(buffer);
        parcel->buffer = buffer;
    }
    return parcel;
}

struct parcel *parcel_stretch(struct parcel_pool *pool, struct buffer *buffer, struct span frames,
                              uint32_t count) {
    assert(count > 0 && frames.bytes > 0);
    struct parcel *parcel = take_for(pool, buffer, BUDGET_MESSAGE);
    if (parcel) {
        parcel->frames = count;
        parcel->dressed = true;
        parcel_add(parcel, buffer->bytes + frames.at, frames.bytes);
    }
    return parcel;
}

void parcel_shorten(struct parcel *parcel, size_t bytes, uint32_t frames) {
    struct piece *stretch = &parcel->pieces[0];
    assert(parcel->piece_count == 1 && parcel->bytes >= bytes && frames > 0);
    parcel->bytes = stretch->count = bytes;
    parcel->frames = frames;
}

void parcel_narrow(struct parcel *parcel, struct span body) {
    struct piece *stretch = &parcel->pieces[0];
    assert(parcel->piece_count == 1 && parcel->dressed);
    assert(body.at + body.bytes <= stretch->count);
    *stretch = (struct piece){(const uint8_t *)stretch->bytes + body.at, body.bytes};
    parcel->bytes = body.bytes;
    parcel->frames = 1;
    parcel->dressed = false;
}

bool parcel_passes(const struct frame *frame) {
    const struct unit *unit = frame->unit;
    return unit->canonical && frame->body.at == frame->at + unit->body_at &&
           frame->body.bytes == unit->body_bytes;
}

void parcel_add_line(struct parcel *parcel, const struct wire_line *added) {
    assert(!parcel->dressed && !parcel->has_head && added && added->bytes > 2);
    parcel->has_added = true;
    parcel->added = added;
}

// The header fields that came with a body go with it.
static void keep_block(struct parcel *parcel, const struct frame *frame) {
    const struct unit *unit = frame->unit;
    if (frame->added)
        parcel_add_line(parcel, frame->added);
    if (unit->length_line_bytes == 0)
        return;
    assert(unit->length_line_at + unit->length_line_bytes <= unit->body_at);
    parcel->block = frame->buffer->bytes + frame->at;
    parcel->block_bytes = unit->body_at;
    parcel->line_at = unit->length_line_at;
    parcel->line_bytes = unit->length_line_bytes;
}

struct parcel *parcel_forward(struct parcel_pool *pool, const struct frame *frame) {
    struct parcel *parcel = take_for(pool, frame->buffer, BUDGET_MESSAGE);
    if (!parcel)
        return NULL;
    keep_block(parcel, frame);
    parcel->canonical = parcel_passes(frame);
    parcel_add(parcel, frame_body(frame), frame->body.bytes);
    return parcel;
}

// Most have one alone, with something on either side of it.
static inline bool open_between(struct parcel *parcel, const uint8_t *body, uint32_t bytes,
                                struct span hole) {
    uint32_t behind = hole.at + hole.bytes;
    assert(behind <= bytes && parcel->piece_count == 0);
    if (hole.at == 0 || behind == bytes)
        return false;
    parcel->pieces[0] = (struct piece){body, hole.at};
    parcel->pieces[1] = (struct piece){0};
    parcel->pieces[2] = (struct piece){body + behind, bytes - behind};
    parcel->piece_count = 3;
    parcel->holes[0] = 1;
    parcel->hole_count = 1;
    parcel->bytes = bytes - hole.bytes;
    return true;
}

static struct parcel *open_holes(struct parcel_pool *pool, const struct frame *frame,
                                 const struct span *values, unsigned count, enum budget_use use) {
    struct parcel *parcel = take_for(pool, frame->buffer, use);
    if (!parcel)
        return NULL;
    assert(count <= PARCEL_HOLES_MAX);
    keep_block(parcel, frame);
    const uint8_t *body = frame_body(frame);
    if (count == 1 && open_between(parcel, body, frame->body.bytes, values[0]))
        return parcel;
    uint32_t at = 0;
    for (unsigned index = 0; index < count; index++) {
        assert(values[index].at >= at); // in rising order
        parcel_add(parcel, body + at, values[index].at - at);
        parcel->holes[parcel->hole_count++] = parcel->piece_count;
        parcel->pieces[parcel->piece_count++] = (struct piece){0};
        at = values[index].at + values[index].bytes;
    }
    assert(at <= frame->body.bytes);
    parcel_add(parcel, body + at, frame->body.bytes - at);
    return parcel;
}

struct parcel *parcel_open(struct parcel_pool *pool, const struct frame *frame, const struct span *values,
                           unsigned count) {
    return open_holes(pool, frame, values, count, BUDGET_MESSAGE);
}

struct parcel *parcel_open_answer(struct parcel_pool *pool, const struct frame *frame,
                                  const struct span *id) {
    return open_holes(pool, frame, id, 1, BUDGET_OWED);
}

struct parcel *parcel_own(struct parcel_pool *pool, char *text, size_t count) {
    struct parcel *parcel = parcel_take(pool, BUDGET_OWED);
    if (!parcel)
        return NULL;
    assert(count > 0 && count <= memory_bytes(text) && memory_bytes(text) <= UINT32_MAX);
    size_t bytes = memory_bytes(text);
    if (!buffer_budget_has_room(pool->budget, bytes, BUDGET_OWED)) {
        parcel_drop(parcel);
        return NULL;
    }
    parcel->text = text;
    parcel->text_bytes = (uint32_t)bytes;
    parcel_pool_count(pool, (int64_t)bytes);
    parcel_add(parcel, (const uint8_t *)text, count);
    return parcel;
}

// It lies apart from what all parcels use, and most have none.
static void keep_added(struct parcel *parcel, const struct parcel *other) {
    if (!other->has_added)
        return;
    assert(!other->long_head);
    parcel->has_added = true;
    parcel->added = other->added;
}

struct parcel *parcel_copy_of(struct parcel_pool *pool, const struct parcel *parcel) {
    enum budget_use use = parcel->origin ? BUDGET_PLENTY : BUDGET_RECEIVING;
    bool fits = buffer_budget_has_room(pool->budget, parcel->bytes + sizeof *parcel, use);
    char *text = fits ? memory_take(parcel->bytes) : NULL;
    struct parcel *copy = text ? parcel_own(pool, text, parcel->bytes) : NULL;
    if (!copy) {
        memory_give(text);
        return NULL;
    }
    assert(parcel->hole_count == 0 && copy->bytes == parcel->bytes);
    parcel_copy(parcel, (uint8_t *)text);
    copy->mail.came_us = parcel->mail.came_us;
    copy->hub_id = parcel->hub_id;
    copy->lane = parcel->lane;
    copy->frames = parcel->frames;
    copy->unfinished = parcel->unfinished;
    copy->dressed = parcel->dressed;
    copy->breaks = parcel->breaks;
    copy->of_stream = parcel->of_stream;
    copy->for_many = parcel->for_many;
    keep_added(copy, parcel);
    if (parcel->of_stream)
        copy->stream = parcel->stream;
    return copy;
}

struct parcel *parcel_share(struct parcel_pool *pool, struct parcel *origin) {
    struct parcel *parcel = parcel_take(pool, BUDGET_PLENTY);
    if (!parcel)
        return NULL;
    assert(origin->hole_count == 0 && !origin->origin);
    origin->shares++;
    parcel->origin = origin;
    parcel->mail.came_us = origin->mail.came_us;
    parcel->bytes = origin->bytes;
    parcel->frames = origin->frames;
    parcel->lane = origin->lane;
    parcel->dressed = origin->dressed;
    parcel->breaks = origin->breaks;
    parcel->block = origin->block;
    parcel->block_bytes = origin->block_bytes;
    parcel->line_at = origin->line_at;
    parcel->line_bytes = origin->line_bytes;
    keep_added(parcel, origin);
    parcel->canonical = origin->canonical;
    parcel->piece_count = origin->piece_count;
    memcpy(parcel->pieces, origin->pieces, origin->piece_count * sizeof *origin->pieces);
    return parcel;
}

void parcel_enclose(struct parcel *parcel, const char *before) {
    struct piece *pieces = parcel->pieces;
    assert(!parcel->dressed && parcel->hole_count == 0 && parcel->piece_count + 2 < PARCEL_PIECES_MAX);
    assert(!parcel->long_head);
    memmove(pieces + 1, pieces, parcel->piece_count * sizeof *pieces);
    pieces[0] = (struct piece){before, strlen(before)};
    parcel->piece_count++;
    parcel->bytes += pieces[0].count;
    parcel->block = NULL;
    parcel->has_added = false;
    parcel->canonical = false;
}
