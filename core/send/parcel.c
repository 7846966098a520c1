#include "core/send/parcel.h"

#include <assert.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/base/text.h"

// Parcels at rest beyond this many go back to the allocator.
enum { FREE_COUNT_MAX = 16 * 1024, UNSETTLED_MAX = 64 * 1024 };

static const char length_name[] = "Content-Length: ";
enum { LENGTH_NAME_BYTES = sizeof length_name - 1, LENGTH_LINE_BYTES_MAX = LENGTH_NAME_BYTES + 10 + 2 };

void parcel_pool_init(struct parcel_pool *pool, struct buffer_budget *budget, uint32_t shard) {
    *pool = (struct parcel_pool){.budget = budget, .shard = shard};
}

static void unmake(struct parcel *parcel) {
    buffer_budget_give(parcel->pool->budget, memory_bytes_for(sizeof *parcel));
    parcel->pool->made--;
    memory_give(parcel);
}

static void settle(struct parcel_pool *pool) {
    atomic_fetch_add_explicit(&pool->budget->bytes, (uint64_t)pool->unsettled, memory_order_relaxed);
    pool->unsettled = 0;
}

// The budget is shared by all shards, so that it costs more than most texts: it is told of many at a time.
static void count_text(struct parcel_pool *pool, int64_t bytes) {
    pool->unsettled += bytes;
    if (pool->unsettled > UNSETTLED_MAX || pool->unsettled < -UNSETTLED_MAX)
        settle(pool);
}

static void keep(struct parcel_pool *pool, uint32_t count) {
    struct parcel **rest = &pool->free;
    for (uint32_t index = 0; index < count; index++)
        rest = &(*rest)->next;
    for (struct parcel *parcel; (parcel = *rest);) {
        *rest = parcel->next;
        unmake(parcel);
    }
    pool->idle_count = pool->free_count = count;
}

void parcel_pool_trim(struct parcel_pool *pool) {
    keep(pool, 0);
}

void parcel_pool_shrink(struct parcel_pool *pool) {
    keep(pool, pool->free_count - pool->idle_count);
}

void parcel_pool_deinit(struct parcel_pool *pool) {
    assert(parcel_pool_full(pool));
    parcel_pool_trim(pool);
    settle(pool);
}

bool parcel_pool_full(const struct parcel_pool *pool) {
    return pool->free_count == pool->made;
}

// Text of the parcel's own is taken over.
static void own(struct parcel *parcel, char *text, size_t bytes) {
    parcel->text = text;
    parcel->text_bytes = bytes;
}

static void disown(struct parcel *parcel) {
    if (parcel->text == parcel->inline_text)
        return;
    count_text(parcel->pool, -(int64_t)parcel->text_bytes);
    memory_give(parcel->text);
}

static struct parcel *make(struct parcel_pool *pool, enum budget_use use) {
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
static struct parcel *take(struct parcel_pool *pool, enum budget_use use) {
    struct parcel *parcel = pool->free;
    if (parcel) {
        pool->free = parcel->next;
        if (--pool->free_count < pool->idle_count)
            pool->idle_count = pool->free_count;
    } else {
        parcel = make(pool, use);
        if (!parcel)
            return NULL;
    }
    parcel->next = NULL;
    parcel->buffer = NULL;
    parcel->origin = NULL;
    parcel->text = parcel->inline_text;
    parcel->hub_id = 0;
    parcel->bytes = 0;
    parcel->head_bytes = 0;
    parcel->frames = 1;
    parcel->shares = 0;
    parcel->lane = LANE_NORMAL;
    parcel->piece_count = 0;
    parcel->hole_count = 0;
    parcel->unfinished = false;
    return parcel;
}

struct parcel *parcel_drop(struct parcel *parcel) {
    struct parcel_pool *pool = parcel->pool;
    struct parcel *origin = parcel->origin;
    assert(parcel->shares == 0);
    buffer_drop(parcel->buffer);
    disown(parcel);
    if (pool->free_count >= FREE_COUNT_MAX) {
        unmake(parcel);
        return origin;
    }
    parcel->next = pool->free;
    pool->free = parcel;
    pool->free_count++;
    return origin;
}

// Adds a piece, or to the last one where that ends here.
static void add(struct parcel *parcel, const uint8_t *bytes, size_t count) {
    if (count == 0)
        return;
    struct piece *last = parcel->piece_count ? &parcel->pieces[parcel->piece_count - 1] : NULL;
    parcel->bytes += count;
    if (last && last->bytes && (const uint8_t *)last->bytes + last->count == bytes) {
        last->count += count;
        return;
    }
    assert(parcel->piece_count < PARCEL_PIECES_MAX);
    parcel->pieces[parcel->piece_count++] = (struct piece){.bytes = bytes, .count = count};
}

// Writes "Content-Length: N\r\n"; returns its length.
static size_t length_line(char *out, uint64_t body_bytes) {
    memcpy(out, length_name, LENGTH_NAME_BYTES);
    size_t count = LENGTH_NAME_BYTES + text_digits(out + LENGTH_NAME_BYTES, body_bytes);
    memcpy(out + count, "\r\n", 2);
    return count + 2;
}

static struct parcel *take_for(struct parcel_pool *pool, struct buffer *buffer, enum budget_use use) {
    struct parcel *parcel = take(pool, use);
    if (parcel) {
        buffer_hold(buffer);
        parcel->buffer = buffer;
    }
    return parcel;
}

struct parcel *parcel_stretch(struct parcel_pool *pool, struct buffer *buffer, struct span frames,
                              uint32_t count) {
    struct parcel *parcel = take_for(pool, buffer, BUDGET_MESSAGE);
    if (parcel) {
        parcel->frames = count;
        add(parcel, buffer->bytes + frames.at, frames.bytes);
    }
    return parcel;
}

void parcel_shorten(struct parcel *parcel, size_t bytes, uint32_t frames) {
    assert(parcel->piece_count == 1 && parcel->bytes >= bytes);
    parcel->bytes = parcel->pieces[0].count = bytes;
    parcel->frames = frames;
}

bool parcel_passes(const struct frame *frame) {
    const struct unit *unit = frame->unit;
    return unit->canonical && frame->body.at == frame->at + unit->body_at &&
           frame->body.bytes == unit->body_bytes;
}

struct parcel *parcel_forward(struct parcel_pool *pool, const struct frame *frame) {
    if (!parcel_passes(frame)) {
        struct parcel *parcel = parcel_open(pool, frame, NULL, 0);
        if (parcel)
            parcel_fill(parcel, NULL); // no text, no memory
        return parcel;
    }
    struct parcel *parcel = take_for(pool, frame->buffer, BUDGET_MESSAGE);
    if (!parcel)
        return NULL;
    parcel->head_bytes = frame->unit->body_at;
    add(parcel, frame->buffer->bytes + frame->at, (size_t)frame->unit->body_at + frame->body.bytes);
    return parcel;
}

// The Content-Length line and the values are text that parcel_fill writes; until then the first piece's count
// is the length of the body without the values.
static struct parcel *open(struct parcel_pool *pool, const struct frame *frame, const struct span *values,
                           unsigned count, enum budget_use use) {
    struct parcel *parcel = take_for(pool, frame->buffer, use);
    if (!parcel)
        return NULL;
    assert(count <= PARCEL_HOLES_MAX);
    const struct unit *unit = frame->unit;
    const uint8_t *start = frame->buffer->bytes + frame->at, *body = frame_body(frame);
    uint32_t after = unit->length_line_at + unit->length_line_bytes, at = 0, kept = frame->body.bytes;
    parcel->pieces[parcel->piece_count++] = (struct piece){0};
    add(parcel, start, unit->length_line_at);
    add(parcel, start + after, unit->body_at - after);
    parcel->head_bytes = parcel->bytes;
    for (unsigned index = 0; index < count; index++) {
        add(parcel, body + at, values[index].at - at);
        parcel->holes[parcel->hole_count++] = parcel->piece_count;
        parcel->pieces[parcel->piece_count++] = (struct piece){0};
        at = values[index].at + values[index].bytes;
        kept -= values[index].bytes;
    }
    add(parcel, body + at, frame->body.bytes - at);
    parcel->pieces[0].count = kept;
    return parcel;
}

struct parcel *parcel_open(struct parcel_pool *pool, const struct frame *frame, const struct span *values,
                           unsigned count) {
    return open(pool, frame, values, count, BUDGET_MESSAGE);
}

struct parcel *parcel_open_answer(struct parcel_pool *pool, const struct frame *frame,
                                  const struct span *id) {
    return open(pool, frame, id, 1, BUDGET_OWED);
}

// Perhaps on another shard than the pool's, so that the budget is told at once.
static bool make_text(struct parcel *parcel, size_t bytes) {
    struct buffer_budget *budget = parcel->pool->budget;
    size_t counted = memory_bytes_for(bytes);
    if (!buffer_budget_take(budget, counted, BUDGET_OWED))
        return false;
    char *text = memory_take(bytes);
    if (text)
        own(parcel, text, counted);
    else
        buffer_budget_give(budget, counted);
    return text != NULL;
}

bool parcel_fill(struct parcel *parcel, const struct piece *texts) {
    size_t sum = 0;
    for (unsigned index = 0; index < parcel->hole_count; index++)
        sum += texts[index].count;
    if (sum > PARCEL_TEXT_BYTES - LENGTH_LINE_BYTES_MAX && !make_text(parcel, LENGTH_LINE_BYTES_MAX + sum))
        return false;
    size_t line = length_line(parcel->text, parcel->pieces[0].count + sum);
    parcel->pieces[0] = (struct piece){.bytes = parcel->text, .count = line};
    char *to = parcel->text + line;
    for (unsigned index = 0; index < parcel->hole_count; index++) {
        memcpy(to, texts[index].bytes, texts[index].count);
        parcel->pieces[parcel->holes[index]] = (struct piece){.bytes = to, .count = texts[index].count};
        to += texts[index].count;
    }
    parcel->hole_count = 0;
    parcel->head_bytes += line;
    parcel->bytes += line + sum;
    return true;
}

struct parcel *parcel_own(struct parcel_pool *pool, char *text, size_t count) {
    struct parcel *parcel = take(pool, BUDGET_OWED);
    if (!parcel)
        return NULL;
    size_t bytes = memory_bytes(text);
    if (!buffer_budget_has_room(pool->budget, bytes, BUDGET_OWED)) {
        parcel_drop(parcel);
        return NULL;
    }
    own(parcel, text, bytes);
    count_text(pool, (int64_t)bytes);
    add(parcel, (const uint8_t *)text, count);
    return parcel;
}

struct parcel *parcel_copy_of(struct parcel_pool *pool, const struct parcel *parcel) {
    bool fits = buffer_budget_has_room(pool->budget, parcel->bytes + sizeof *parcel, BUDGET_MESSAGE);
    char *text = fits ? memory_take(parcel->bytes) : NULL;
    struct parcel *copy = text ? parcel_own(pool, text, parcel->bytes) : NULL;
    if (!copy) {
        memory_give(text);
        return NULL;
    }
    parcel_copy(parcel, (uint8_t *)text);
    copy->hub_id = parcel->hub_id;
    copy->lane = parcel->lane;
    copy->head_bytes = parcel->head_bytes;
    copy->frames = parcel->frames;
    copy->unfinished = parcel->unfinished;
    return copy;
}

struct parcel *parcel_share(struct parcel_pool *pool, struct parcel *origin) {
    struct parcel *parcel = take(pool, BUDGET_PLENTY);
    if (!parcel)
        return NULL;
    assert(origin->hole_count == 0 && !origin->origin);
    origin->shares++;
    parcel->origin = origin;
    parcel->bytes = origin->bytes;
    parcel->head_bytes = origin->head_bytes;
    parcel->frames = origin->frames;
    parcel->lane = origin->lane;
    parcel->piece_count = origin->piece_count;
    memcpy(parcel->pieces, origin->pieces, origin->piece_count * sizeof *origin->pieces);
    return parcel;
}

void parcel_enclose(struct parcel *parcel, const char *before, const char *behind) {
    struct piece old[PARCEL_PIECES_MAX];
    unsigned count = parcel->piece_count;
    size_t skip = parcel->head_bytes;
    memcpy(old, parcel->pieces, count * sizeof *old);
    parcel->piece_count = 0;
    parcel->bytes = parcel->head_bytes = 0;
    add(parcel, (const uint8_t *)before, strlen(before));
    for (unsigned index = 0; index < count; index++) {
        size_t skipped = skip < old[index].count ? skip : old[index].count;
        skip -= skipped;
        add(parcel, (const uint8_t *)old[index].bytes + skipped, old[index].count - skipped);
    }
    add(parcel, (const uint8_t *)behind, strlen(behind));
}

// The pieces around a spliced value are short, and a call costs more than copying them.
static void copy(uint8_t *out, const uint8_t *from, size_t count) {
    if (count > 32) {
        memcpy(out, from, count);
    } else if (count >= 16) {
        memcpy(out, from, 16);
        memcpy(out + count - 16, from + count - 16, 16);
    } else if (count >= 8) {
        memcpy(out, from, 8);
        memcpy(out + count - 8, from + count - 8, 8);
    } else {
        for (size_t at = 0; at < count; at++)
            out[at] = from[at];
    }
}

void parcel_copy(const struct parcel *parcel, uint8_t *out) {
    for (unsigned index = 0; index < parcel->piece_count; index++) {
        copy(out, parcel->pieces[index].bytes, parcel->pieces[index].count);
        out += parcel->pieces[index].count;
    }
}
