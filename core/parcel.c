#include "core/parcel.h"

#include <assert.h>
#include <string.h>

#include "core/memory.h"
#include "core/text.h"

// Parcels at rest beyond this many go back to the allocator.
enum { FREE_COUNT_MAX = 16 * 1024 };

static const char length_name[] = "Content-Length: ";
enum { LENGTH_NAME_BYTES = sizeof length_name - 1, LENGTH_LINE_BYTES_MAX = LENGTH_NAME_BYTES + 10 + 2 };

void parcel_pool_init(struct parcel_pool *pool, struct buffer_budget *budget, uint32_t shard) {
    *pool = (struct parcel_pool){.budget = budget, .shard = shard};
}

static void unmake(struct parcel *parcel) {
    atomic_fetch_sub_explicit(&parcel->pool->budget->bytes, sizeof *parcel, memory_order_relaxed);
    parcel->pool->made--;
    memory_give(parcel);
}

void parcel_pool_deinit(struct parcel_pool *pool) {
    assert(parcel_pool_full(pool));
    while (pool->free) {
        struct parcel *parcel = pool->free;
        pool->free = parcel->next;
        unmake(parcel);
    }
    pool->free_count = 0;
}

bool parcel_pool_full(const struct parcel_pool *pool) {
    return pool->free_count == pool->made;
}

static struct parcel *take(struct parcel_pool *pool) {
    struct parcel *parcel = pool->free;
    if (parcel) {
        pool->free = parcel->next;
        pool->free_count--;
    } else {
        parcel = memory_take(sizeof *parcel);
        if (!parcel)
            return NULL;
        parcel->pool = pool;
        pool->made++;
        atomic_fetch_add_explicit(&pool->budget->bytes, sizeof *parcel, memory_order_relaxed);
    }
    parcel->next = NULL;
    parcel->buffer = NULL;
    parcel->text = parcel->inline_text;
    parcel->hub_id = 0;
    parcel->bytes = 0;
    parcel->lane = LANE_NORMAL;
    parcel->piece_count = 0;
    parcel->hole = 0;
    return parcel;
}

void parcel_drop(struct parcel *parcel) {
    struct parcel_pool *pool = parcel->pool;
    buffer_drop(parcel->buffer);
    if (parcel->text != parcel->inline_text)
        memory_give(parcel->text);
    if (pool->free_count >= FREE_COUNT_MAX) {
        unmake(parcel);
        return;
    }
    parcel->next = pool->free;
    pool->free = parcel;
    pool->free_count++;
}

static void add(struct parcel *parcel, const void *bytes, size_t count) {
    if (count == 0)
        return;
    assert(parcel->piece_count < PARCEL_PIECES_MAX);
    parcel->pieces[parcel->piece_count++] = (struct piece){.bytes = bytes, .count = count};
    parcel->bytes += count;
}

// Writes "Content-Length: N\r\n"; returns its length.
static size_t length_line(char *out, uint64_t body_bytes) {
    memcpy(out, length_name, LENGTH_NAME_BYTES);
    size_t count = LENGTH_NAME_BYTES + text_digits(out + LENGTH_NAME_BYTES, body_bytes);
    memcpy(out + count, "\r\n", 2);
    return count + 2;
}

static struct parcel *take_for(struct parcel_pool *pool, const struct frame *frame) {
    struct parcel *parcel = take(pool);
    if (parcel) {
        buffer_hold(frame->buffer);
        parcel->buffer = frame->buffer;
    }
    return parcel;
}

struct parcel *parcel_forward(struct parcel_pool *pool, const struct frame *frame) {
    struct parcel *parcel = take_for(pool, frame);
    if (!parcel)
        return NULL;
    const struct frame_scan *header = frame->header;
    const uint8_t *start = frame->buffer->bytes + frame->at;
    size_t whole = (size_t)header->header_bytes + header->body_bytes;
    if (header->canonical) {
        add(parcel, start, whole);
        return parcel;
    }
    size_t after = header->length_line_at + header->length_line_bytes;
    add(parcel, parcel->text, length_line(parcel->text, header->body_bytes));
    add(parcel, start, header->length_line_at);
    add(parcel, start + after, whole - after);
    return parcel;
}

// The Content-Length line and the value are text that parcel_fill writes; until then the pieces hold the
// body's length without the value in the first one's count.
struct parcel *parcel_open(struct parcel_pool *pool, const struct frame *frame, struct span value) {
    struct parcel *parcel = take_for(pool, frame);
    if (!parcel)
        return NULL;
    const struct frame_scan *header = frame->header;
    const uint8_t *start = frame->buffer->bytes + frame->at;
    size_t after = header->length_line_at + header->length_line_bytes;
    size_t value_at = header->header_bytes + (size_t)value.at;
    size_t whole = (size_t)header->header_bytes + header->body_bytes;
    parcel->pieces[parcel->piece_count++] = (struct piece){.count = header->body_bytes - value.bytes};
    add(parcel, start, header->length_line_at);
    add(parcel, start + after, value_at - after);
    parcel->hole = parcel->piece_count;
    parcel->pieces[parcel->piece_count++] = (struct piece){0};
    add(parcel, start + value_at + value.bytes, whole - value_at - value.bytes);
    return parcel;
}

bool parcel_fill(struct parcel *parcel, const char *text, size_t count) {
    assert(parcel->hole);
    if (count > PARCEL_TEXT_BYTES - LENGTH_LINE_BYTES_MAX) {
        char *own = memory_take(LENGTH_LINE_BYTES_MAX + count);
        if (!own)
            return false;
        parcel->text = own;
    }
    size_t line = length_line(parcel->text, parcel->pieces[0].count + count);
    memcpy(parcel->text + line, text, count);
    parcel->pieces[0] = (struct piece){.bytes = parcel->text, .count = line};
    parcel->pieces[parcel->hole] = (struct piece){.bytes = parcel->text + line, .count = count};
    parcel->hole = 0;
    parcel->bytes += line + count;
    return true;
}

struct parcel *parcel_own(struct parcel_pool *pool, char *text, size_t count) {
    struct parcel *parcel = take(pool);
    if (!parcel)
        return NULL;
    parcel->text = text;
    add(parcel, text, count);
    return parcel;
}

struct parcel *parcel_copy_of(struct parcel_pool *pool, const struct parcel *parcel) {
    char *text = memory_take(parcel->bytes);
    struct parcel *copy = text ? parcel_own(pool, text, parcel->bytes) : NULL;
    if (!copy) {
        memory_give(text);
        return NULL;
    }
    parcel_copy(parcel, (uint8_t *)text);
    copy->hub_id = parcel->hub_id;
    copy->lane = parcel->lane;
    return copy;
}

void parcel_copy(const struct parcel *parcel, uint8_t *out) {
    for (unsigned index = 0; index < parcel->piece_count; index++) {
        memcpy(out, parcel->pieces[index].bytes, parcel->pieces[index].count);
        out += parcel->pieces[index].count;
    }
}
