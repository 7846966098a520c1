#include "core/send/envelope.h"

#include <assert.h>
#include <string.h>

// Behind the length line of a block that has no other fields.
static const char block_end[] = "\r\n";

static bool is_break(uint8_t byte) {
    return byte == '\r' || byte == '\n';
}

static bool piece_breaks(const uint8_t *bytes, size_t count) {
    return memchr(bytes, '\n', count) || memchr(bytes, '\r', count);
}

bool parcel_breaks(const struct parcel *parcel) {
    for (unsigned index = 0; index < parcel->piece_count; index++)
        if (parcel->pieces[index].count &&
            piece_breaks(parcel->pieces[index].bytes, parcel->pieces[index].count))
            return true;
    return false;
}

bool parcel_stretch_breaks(const struct parcel *parcel, struct span body) {
    const struct piece *stretch = &parcel->pieces[0];
    assert(parcel->piece_count == 1 && body.at + body.bytes <= stretch->count);
    return piece_breaks((const uint8_t *)stretch->bytes + body.at, body.bytes);
}

static void replace_breaks(struct parcel *parcel) {
    for (unsigned index = 0; index < parcel->piece_count; index++) {
        union {
            const void *from;
            uint8_t *to;
        } unconst = {.from = parcel->pieces[index].bytes}; // what is received is sent, and const there
        for (size_t at = 0; at < parcel->pieces[index].count; at++)
            if (is_break(unconst.to[at]))
                unconst.to[at] = ' ';
    }
}

struct parcel *parcel_flat(struct parcel_pool *pool, const struct parcel *parcel) {
    struct parcel *flat = parcel_copy_of(pool, parcel);
    if (flat)
        replace_breaks(flat);
    return flat;
}

static void flatten(struct parcel *parcel) {
    assert(!parcel->origin || !parcel_breaks(parcel));
    if (!parcel->origin && parcel_breaks(parcel))
        replace_breaks(parcel);
}

// The whole block lies right before the body, or its rest behind the length line does: it is made a part of
// the first piece.
static void grow_backwards(struct parcel *parcel, size_t bytes) {
    struct piece *first = &parcel->pieces[0];
    assert(first->bytes == parcel->block + parcel->block_bytes && bytes <= parcel->block_bytes);
    *first = (struct piece){(const uint8_t *)first->bytes - bytes, first->count + bytes};
    parcel->bytes += bytes;
}

// The fields that came with the body, and the block's end.
static void put_fields(struct parcel *parcel) {
    assert(parcel->line_at + parcel->line_bytes <= parcel->block_bytes);
    size_t after = parcel->block_bytes - parcel->line_at - parcel->line_bytes;
    if (parcel->line_at) {
        parcel->head_fields |= PARCEL_BEFORE;
        parcel->bytes += parcel->line_at;
    }
    if (parcel->pieces[0].bytes == parcel->block + parcel->block_bytes) {
        grow_backwards(parcel, after);
    } else {
        parcel->head_fields |= PARCEL_AFTER;
        parcel->bytes += after;
    }
}

static void put_head(struct parcel *parcel, const struct wire *wire, size_t body_bytes) {
    if (wire->has_fields && parcel->canonical) {
        grow_backwards(parcel, parcel->block_bytes);
        return;
    }
    size_t count = wire->head ? wire->head(parcel->inline_text, body_bytes) : 0;
    if (wire->has_fields && parcel->block) {
        put_fields(parcel);
    } else if (wire->has_fields) {
        memcpy(parcel->inline_text + count, block_end, sizeof block_end - 1);
        count += sizeof block_end - 1;
    }
    assert(count <= PARCEL_HEAD_BYTES_MAX); // what fills holes lies behind that
    parcel->head_bytes = (uint8_t)count;
    parcel->bytes += count;
}

static void put_behind(struct parcel *parcel, const char *text) {
    size_t count = strlen(text);
    if (count == 0)
        return;
    assert(parcel->piece_count < PARCEL_PIECES_MAX);
    parcel->pieces[parcel->piece_count++] = (struct piece){text, count};
    parcel->bytes += count;
}

void parcel_dress(struct parcel *parcel, const struct wire *wire) {
    assert(!parcel->dressed && !parcel->unfinished && parcel->hole_count == 0);
    if (wire->one_line)
        flatten(parcel);
    put_head(parcel, wire, parcel->bytes);
    put_behind(parcel, wire->tail);
    parcel->dressed = true;
}

void parcel_dress_chain(struct parcel *first, const struct wire *wire, size_t bytes, const char *behind) {
    size_t behind_bytes = strlen(behind);
    for (struct parcel *parcel = first; parcel; parcel = parcel->next) {
        assert(!parcel->dressed && parcel->hole_count == 0);
        assert(parcel->unfinished == (parcel->next != NULL));
        if (wire->one_line)
            flatten(parcel);
        if (parcel == first)
            put_head(parcel, wire, bytes + behind_bytes);
        if (!parcel->unfinished) {
            put_behind(parcel, behind);
            put_behind(parcel, wire->tail);
        }
        parcel->dressed = true;
    }
}
