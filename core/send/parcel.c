#include "core/send/parcel.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/base/text.h"

// --- Copies of short text: the pieces around a replaced value, and the values. A call of memcpy costs more than these.

// Copies both ends of a text. The ends may overlap.
static inline void copy_ends(uint8_t *out, const uint8_t *from, size_t count, size_t end) {
    memcpy(out, from, end);
    memcpy(out + count - end, from + count - end, end);
}

static inline void copy_short(void *to, const void *bytes, size_t count) {
    uint8_t *out = to;
    const uint8_t *from = bytes;
    if (count > 32) {
        memcpy(out, from, count);
    } else if (count >= 16) {
        copy_ends(out, from, count, 16);
    } else if (count >= 8) {
        copy_ends(out, from, count, 8);
    } else if (count >= 4) {
        copy_ends(out, from, count, 4);
    } else if (count > 0) {
        out[0] = from[0];
        out[count / 2] = from[count / 2];
        out[count - 1] = from[count - 1];
    }
}

// --- Pools

// Free parcels beyond FREE_COUNT_MAX are given back to the allocator. The budget is updated when UNCOUNTED_MAX bytes
// are outstanding.
enum { FREE_COUNT_MAX = 16 * 1024, UNCOUNTED_MAX = 64 * 1024 };

// A head of a message to another hub has some 250 bytes.
enum { HEAD_REST_BYTES = 384 };
#ifdef PATCHBAY_SANITIZED
enum { HEADS_MAX = 0 }; // so that the sanitizer finds a use after free
#else
enum { HEADS_MAX = 1024 };
#endif

void parcel_pool_init(struct parcel_pool *pool, struct buffer_budget *budget, uint32_t shard) {
    assert(shard < SHARDS_MAX);
    *pool = (struct parcel_pool){
        .budget = budget, .shard = shard, .head_bytes = (uint32_t)memory_bytes_for(HEAD_REST_BYTES)};
}

static void parcel_unmake(struct parcel *parcel) {
    assert(parcel->pool->made > 0);
    buffer_budget_give(parcel->pool->budget, memory_bytes_for(sizeof *parcel));
    parcel->pool->made--;
    memory_give(parcel);
}

// Counts in the budget what parcel_pool_count has not counted there yet.
static void update_budget(struct parcel_pool *pool) {
    atomic_fetch_add_explicit(&pool->budget->bytes, (uint64_t)pool->uncounted, memory_order_relaxed);
    pool->uncounted = 0;
}

// Counts bytes for many texts before it updates the budget. All shards share the budget, so an update costs more than
// most texts do.
void parcel_pool_count(struct parcel_pool *pool, int64_t bytes) {
    pool->uncounted += bytes;
    if (pool->uncounted > UNCOUNTED_MAX || pool->uncounted < -UNCOUNTED_MAX)
        update_budget(pool);
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

// Returns an unused head, or NULL.
static char *take_idle_head(struct parcel_pool *pool) {
    char *head = pool->heads;
    if (!head)
        return NULL;
    memcpy(&pool->heads, head, sizeof pool->heads);
    if (--pool->head_count < pool->head_idle)
        pool->head_idle = pool->head_count;
    return head;
}

static void keep_heads(struct parcel_pool *pool, uint32_t count) {
    while (pool->head_count > count) {
        memory_give(take_idle_head(pool));
        parcel_pool_count(pool, -(int64_t)pool->head_bytes);
    }
    pool->head_idle = pool->head_count;
}

void parcel_pool_trim(struct parcel_pool *pool) {
    parcel_keep(pool, 0);
    keep_heads(pool, 0);
}

void parcel_pool_shrink(struct parcel_pool *pool) {
    assert(pool->idle_count <= pool->free_count && pool->head_idle <= pool->head_count);
    parcel_keep(pool, pool->free_count - pool->idle_count);
    keep_heads(pool, pool->head_count - pool->head_idle);
}

void parcel_pool_deinit(struct parcel_pool *pool) {
    assert(parcel_pool_full(pool));
    parcel_pool_trim(pool);
    update_budget(pool);
}

bool parcel_pool_full(const struct parcel_pool *pool) {
    assert(pool->free_count <= pool->made);
    return pool->free_count == pool->made;
}

static void give_head(struct parcel_pool *pool, char *head, uint32_t bytes) {
    if (bytes != pool->head_bytes || pool->head_count == HEADS_MAX) {
        parcel_pool_count(pool, -(int64_t)bytes);
        memory_give(head);
        return;
    }
    memcpy(head, &pool->heads, sizeof pool->heads);
    pool->heads = head;
    pool->head_count++;
}

// Gives back the memory of the parcel's own text and of its long head.
static void give_text(struct parcel *parcel) {
    if (parcel->text != parcel->inline_text) {
        parcel_pool_count(parcel->pool, -(int64_t)parcel->text_bytes);
        memory_give(parcel->text);
    }
    if (parcel->long_head)
        give_head(parcel->pool, parcel->head, parcel->head_text_bytes);
}

// Makes a parcel from new memory. That is rare: mostly the pool has a free parcel.
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

// Takes a free parcel, which the budget counts already, or makes a parcel.
static struct parcel *parcel_take(struct parcel_pool *pool, enum budget_use use) {
    struct parcel *parcel = pool->free;
    assert(!parcel == (pool->free_count == 0));
    // The budget must have room for the parcel's text or buffer, too.
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
    parcel->shared_from = NULL;
    parcel->text = parcel->inline_text;
    parcel->hub_id = 0;
    parcel->of_stream = false;
    parcel->packed = false;
    parcel->bytes = 0;
    parcel->frames = 1;
    parcel->shares = 0;
    parcel->lane = LANE_NORMAL;
    parcel->block = NULL;
    parcel->has_added = false;
    parcel->observed = false;
    parcel->head_bytes = 0;
    parcel->head_fields = 0;
    parcel->for_many = false;
    parcel->piece_count = 0;
    parcel->hole_count = 0;
    parcel->process_only = false;
    parcel->canonical = false;
    parcel->unfinished = false;
    parcel->is_encoded = false;
    parcel->has_head = false;
    parcel->long_head = false;
    parcel->breaks = BREAKS_PASS;
    parcel->note = 0;
    return parcel;
}

struct parcel *parcel_drop(struct parcel *parcel) {
    struct parcel_pool *pool = parcel->pool;
    struct parcel *original = parcel->shared_from;
    // No share of the parcel is left, and no list has the parcel
    assert(parcel->shares == 0 && !parcel->link);
    buffer_drop(parcel->buffer);
    give_text(parcel);
    if (pool->free_count >= FREE_COUNT_MAX) {
        parcel_unmake(parcel);
        return original;
    }
    parcel->next = pool->free;
    pool->free = parcel;
    pool->free_count++;
    return original;
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

struct parcel *parcel_frame_run(struct parcel_pool *pool, struct buffer *buffer, struct span frames,
                                uint32_t count) {
    assert(count > 0 && frames.bytes > 0);
    struct parcel *parcel = take_for(pool, buffer, BUDGET_MESSAGE);
    if (parcel) {
        parcel->frames = count;
        parcel->is_encoded = true;
        parcel_add(parcel, buffer->bytes + frames.at, frames.bytes);
    }
    return parcel;
}

void parcel_shorten(struct parcel *parcel, size_t bytes, uint32_t frames) {
    struct piece *piece = &parcel->pieces[0];
    assert(parcel->piece_count == 1 && parcel->bytes >= bytes && frames > 0);
    parcel->bytes = piece->count = bytes;
    parcel->frames = frames;
}

void parcel_narrow(struct parcel *parcel, struct span body) {
    struct piece *piece = &parcel->pieces[0];
    assert(parcel->piece_count == 1 && parcel->is_encoded);
    assert(body.at + body.bytes <= piece->count);
    *piece = (struct piece){(const uint8_t *)piece->bytes + body.at, body.bytes};
    parcel->bytes = body.bytes;
    parcel->frames = 1;
    parcel->is_encoded = false;
}

bool frame_is_canonical(const struct frame *frame) {
    const struct unit *unit = frame->unit;
    return unit->canonical && frame->body.at == frame->at + unit->body_at &&
           frame->body.bytes == unit->body_bytes;
}

void parcel_add_line(struct parcel *parcel, const struct wire_line *added) {
    assert(!parcel->is_encoded && !parcel->has_head && added && added->bytes > 2);
    parcel->has_added = true;
    parcel->added = added;
}

// Adds the header block that came with the body, and the added line, to the parcel.
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
    parcel->canonical = frame_is_canonical(frame);
    parcel_add(parcel, frame_body(frame), frame->body.bytes);
    return parcel;
}

// Makes one hole inside the body, the most frequent case. Returns false if the hole is at an end of the body.
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

struct parcel *parcel_create_with_holes(struct parcel_pool *pool, const struct frame *frame,
                                        const struct span *values, unsigned count) {
    return open_holes(pool, frame, values, count, BUDGET_MESSAGE);
}

struct parcel *parcel_create_response(struct parcel_pool *pool, const struct frame *frame,
                                      const struct span *id) {
    return open_holes(pool, frame, id, 1, BUDGET_OWED);
}

struct parcel *parcel_from_text(struct parcel_pool *pool, char *text, size_t count) {
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

// Copies the added line of another parcel. The line shares memory with fields that most parcels use otherwise.
static void keep_added(struct parcel *parcel, const struct parcel *other) {
    if (!other->has_added)
        return;
    assert(!other->long_head);
    parcel->has_added = true;
    parcel->added = other->added;
}

struct parcel *parcel_copy_of(struct parcel_pool *pool, const struct parcel *parcel) {
    enum budget_use use = parcel->shared_from ? BUDGET_PLENTY : BUDGET_RECEIVING;
    bool fits = buffer_budget_has_room(pool->budget, parcel->bytes + sizeof *parcel, use);
    char *text = fits ? memory_take(parcel->bytes) : NULL;
    struct parcel *copy = text ? parcel_from_text(pool, text, parcel->bytes) : NULL;
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
    copy->is_encoded = parcel->is_encoded;
    copy->breaks = parcel->breaks;
    copy->of_stream = parcel->of_stream;
    copy->for_many = parcel->for_many;
    copy->observed = parcel->observed;
    keep_added(copy, parcel);
    if (parcel->of_stream)
        copy->stream = parcel->stream;
    return copy;
}

struct parcel *parcel_share(struct parcel_pool *pool, struct parcel *original) {
    struct parcel *parcel = parcel_take(pool, BUDGET_PLENTY);
    if (!parcel)
        return NULL;
    assert(original->hole_count == 0 && !original->shared_from);
    original->shares++;
    parcel->shared_from = original;
    parcel->mail.came_us = original->mail.came_us;
    parcel->bytes = original->bytes;
    parcel->frames = original->frames;
    parcel->lane = original->lane;
    parcel->is_encoded = original->is_encoded;
    parcel->breaks = original->breaks;
    parcel->block = original->block;
    parcel->block_bytes = original->block_bytes;
    parcel->line_at = original->line_at;
    parcel->line_bytes = original->line_bytes;
    keep_added(parcel, original);
    parcel->canonical = original->canonical;
    parcel->piece_count = original->piece_count;
    memcpy(parcel->pieces, original->pieces, original->piece_count * sizeof *original->pieces);
    return parcel;
}

void parcel_enclose(struct parcel *parcel, const char *before) {
    struct piece *pieces = parcel->pieces;
    assert(!parcel->is_encoded && parcel->hole_count == 0 && parcel->piece_count + 2 < PARCEL_PIECES_MAX);
    assert(!parcel->long_head);
    memmove(pieces + 1, pieces, parcel->piece_count * sizeof *pieces);
    pieces[0] = (struct piece){before, strlen(before)};
    parcel->piece_count++;
    parcel->bytes += pieces[0].count;
    parcel->block = NULL;
    parcel->has_added = false;
    parcel->canonical = false;
}

// --- The pieces of a parcel, in their order

static inline struct piece field_piece(const struct parcel *parcel, unsigned which) {
    if (which == PARCEL_ADDED)
        return (struct piece){parcel->added->text, parcel->added_bytes};
    assert(parcel->block && (which == PARCEL_BEFORE || which == PARCEL_AFTER));
    uint32_t behind = parcel->line_at + parcel->line_bytes;
    return which == PARCEL_BEFORE ? (struct piece){parcel->block, parcel->line_at}
                                  : (struct piece){parcel->block + behind, parcel->block_bytes - behind};
}

// Copies the parts of the envelope behind the length line. Not inlined: most parcels have the added line alone, or no
// such part.
static __attribute__((noinline)) uint8_t *copy_fields(const struct parcel *parcel, uint8_t *out) {
    for (unsigned which = PARCEL_ADDED; which <= PARCEL_AFTER; which <<= 1) {
        if (parcel->head_fields & which) {
            struct piece piece = field_piece(parcel, which);
            copy_short(out, piece.bytes, piece.count);
            out += piece.count;
        }
    }
    return out;
}

static inline uint8_t *copy_head(const struct parcel *parcel, uint8_t *out) {
    copy_short(out, (const uint8_t *)parcel->inline_text, parcel->head_bytes);
    out += parcel->head_bytes;
    return parcel->head_fields ? copy_fields(parcel, out) : out;
}

// Copies the head, and then more bytes than the head has: the caller overwrites the rest with the pieces.
static inline uint8_t *move_head(const struct parcel *parcel, uint8_t *out) {
    enum { MOVE = WIRE_MOVE_BYTES };
    static_assert((int)PARCEL_HEAD_BYTES_MAX <= (int)MOVE, "a head is moved at once");
    assert(parcel->bytes >= PARCEL_HEAD_BYTES_MAX + (size_t)MOVE);
    memcpy(out, parcel->inline_text, MOVE);
    out += parcel->head_bytes;
    if (!parcel->head_fields)
        return out;
    if (parcel->head_fields != PARCEL_ADDED || parcel->added_bytes > MOVE)
        return copy_fields(parcel, out);
    memcpy(out, parcel->added->text, MOVE);
    return out + parcel->added_bytes;
}

void parcel_copy(const struct parcel *parcel, uint8_t *out) {
    bool has_room = parcel->bytes >= PARCEL_HEAD_BYTES_MAX + (size_t)WIRE_MOVE_BYTES;
    out = __builtin_expect(has_room, true) ? move_head(parcel, out) : copy_head(parcel, out);
    for (unsigned index = 0; index < parcel->piece_count; index++) {
        copy_short(out, parcel->pieces[index].bytes, parcel->pieces[index].count);
        out += parcel->pieces[index].count;
    }
}

unsigned parcel_pieces(const struct parcel *parcel, struct piece out[PARCEL_VECTORS_MAX]) {
    unsigned count = 0;
    if (parcel->head_bytes)
        out[count++] = (struct piece){parcel->inline_text, parcel->head_bytes};
    for (unsigned which = PARCEL_ADDED; which <= PARCEL_AFTER; which <<= 1)
        if (parcel->head_fields & which)
            out[count++] = field_piece(parcel, which);
    for (unsigned index = 0; index < parcel->piece_count; index++)
        if (parcel->pieces[index].count)
            out[count++] = parcel->pieces[index];
    assert(count <= parcel_vector_count(parcel));
    return count;
}

// --- Text that a parcel owns: for holes, for a head, or a body that was written anew.

// Makes `text`, with `bytes` of memory, the parcel's own text.
static void take_over(struct parcel *parcel, char *text, size_t bytes) {
    assert(bytes <= UINT32_MAX);
    parcel->text = text;
    parcel->text_bytes = (uint32_t)bytes;
}

// Updates the budget at once, since the calling thread may not be the pool's shard.
char *parcel_text_take(struct parcel *parcel, size_t bytes) {
    struct buffer_budget *budget = parcel->pool->budget;
    size_t counted = memory_bytes_for(bytes);
    if (!buffer_budget_take(budget, counted, BUDGET_OWED))
        return NULL;
    char *text = memory_take(bytes);
    if (!text)
        buffer_budget_give(budget, counted);
    return text;
}

static bool make_text(struct parcel *parcel, size_t bytes) {
    assert(parcel->text == parcel->inline_text);
    char *text = parcel_text_take(parcel, bytes);
    if (text)
        take_over(parcel, text, memory_bytes_for(bytes));
    return text != NULL;
}

// Gives the memory of the old text back at once. The caller has counted the memory of the new text already.
void parcel_retext(struct parcel *parcel, char *text, size_t count) {
    assert(!parcel->is_encoded && !parcel->shared_from && parcel->hole_count == 0);
    if (parcel->text != parcel->inline_text) {
        buffer_budget_give(parcel->pool->budget, parcel->text_bytes);
        memory_give(parcel->text);
    }
    take_over(parcel, text, memory_bytes_for(count));
    parcel->pieces[0] = (struct piece){text, count};
    parcel->piece_count = 1;
    parcel->bytes = count;
}

bool parcel_copy_block(struct parcel *parcel) {
    size_t body = parcel->bytes, block = parcel->block_bytes;
    assert(parcel->block && !parcel->has_head && !parcel->is_encoded);
    char *text = parcel_text_take(parcel, body + block);
    if (!text)
        return false;
    parcel_copy(parcel, (uint8_t *)text);
    memcpy(text + body, parcel->block, block);
    parcel_retext(parcel, text, body + block);
    parcel->pieces[0].count = parcel->bytes = body;
    parcel->block = (const uint8_t *)text + body;
    parcel->canonical = false;
    return true;
}

// Takes memory for a long head. All heads that the pool keeps have one size.
static char *take_long_head(struct parcel *parcel, size_t count, struct parcel_pool *here) {
    bool may_rest = count <= HEAD_REST_BYTES;
    char *head = may_rest && parcel->pool == here ? take_idle_head(here) : NULL;
    if (!head)
        head = parcel_text_take(parcel, may_rest ? HEAD_REST_BYTES : count);
    if (head)
        parcel->head_text_bytes = may_rest ? parcel->pool->head_bytes : (uint32_t)memory_bytes_for(count);
    return head;
}

char *parcel_head_take(struct parcel *parcel, size_t count, struct parcel_pool *here) {
    assert(!parcel->is_encoded && !parcel->has_head && count > 0 && count <= UINT32_MAX);
    char *to = parcel->inline_text; // the bytes that fill holes lie behind a short head
    if (count > PARCEL_HEAD_BYTES_MAX) {
        to = take_long_head(parcel, count, here);
        if (!to)
            return NULL;
        parcel->head = to;
        parcel->long_head = true;
        parcel->has_added = false; // `head` and `added` share memory
    }
    parcel->head_count = (uint32_t)count;
    parcel->has_head = true;
    return to;
}

bool parcel_set_head(struct parcel *parcel, const char *head, size_t count) {
    char *to = parcel_head_take(parcel, count, NULL);
    assert(head);
    if (to)
        memcpy(to, head, count);
    return to != NULL;
}

// Fills a single hole with a text that fits inline_text, which is nearly every parcel's case.
static inline bool fill_only(struct parcel *parcel, struct piece text) {
    char *to = parcel->inline_text + PARCEL_HEAD_BYTES_MAX;
    if (parcel->hole_count != 1 || text.count > PARCEL_TEXT_BYTES - PARCEL_HEAD_BYTES_MAX)
        return false;
    copy_short(to, text.bytes, text.count);
    parcel->pieces[parcel->holes[0]] = (struct piece){to, text.count};
    parcel->hole_count = 0;
    parcel->bytes += text.count;
    return true;
}

// Fills all holes, in inline_text or in new memory. The first bytes of inline_text stay free for the length line.
static bool fill_all(struct parcel *parcel, const struct piece *texts) {
    size_t sum = 0;
    for (unsigned index = 0; index < parcel->hole_count; index++)
        sum += texts[index].count;
    char *to = parcel->inline_text + PARCEL_HEAD_BYTES_MAX;
    if (sum > PARCEL_TEXT_BYTES - PARCEL_HEAD_BYTES_MAX) {
        if (!make_text(parcel, sum))
            return false;
        to = parcel->text;
    }
    for (unsigned index = 0; index < parcel->hole_count; index++) {
        memcpy(to, texts[index].bytes, texts[index].count);
        parcel->pieces[parcel->holes[index]] = (struct piece){.bytes = to, .count = texts[index].count};
        to += texts[index].count;
    }
    parcel->hole_count = 0;
    parcel->bytes += sum;
    return true;
}

bool parcel_fill(struct parcel *parcel, const struct piece *texts) {
    assert(parcel->hole_count > 0 && !parcel->is_encoded);
    if (fill_only(parcel, texts[0]))
        return true;
    return fill_all(parcel, texts);
}

// --- Copies of frames

// Returns whether the frame may stay in its buffer: a large frame has a buffer of its own.
static bool may_stay(const struct frame *frame) {
    const struct buffer *buffer = frame->buffer;
    return buffer->capacity != RECEIVE_BUFFER_BYTES && frame->body.bytes >= buffer->capacity / 2;
}

uint32_t frame_copy_bytes(const struct frame *frame) {
    assert(frame->body.bytes > 0);
    return may_stay(frame) ? frame->buffer->capacity : frame->unit->body_at + frame->body.bytes;
}

static bool copy_part(struct buffer_pool *buffers, const struct frame *frame, struct unit *unit,
                      struct frame *saved) {
    uint32_t head = frame->unit->body_at, bytes = frame->body.bytes;
    assert(bytes > 0 && frame->at + head <= frame->body.at);
    struct buffer *buffer = buffer_take_sized(buffers, head + bytes);
    if (!buffer)
        return false;
    memcpy(buffer->bytes, frame->buffer->bytes + frame->at, head);
    memcpy(buffer->bytes + head, frame_body(frame), bytes);
    if (bytes == unit->body_bytes)
        unit->bytes = head + bytes;
    *saved = (struct frame){.buffer = buffer, .unit = unit, .body = {head, bytes}};
    return true;
}

bool frame_copy(struct buffer_pool *buffers, const struct frame *frame, struct unit *unit,
                struct frame *saved) {
    assert(frame->buffer->references > 0);
    *unit = *frame->unit;
    if (!may_stay(frame))
        return copy_part(buffers, frame, unit, saved);
    buffer_hold(frame->buffer);
    *saved = *frame;
    saved->unit = unit;
    return true;
}
