#include "core/send/envelope.h"

#include <assert.h>
#include <string.h>

#include "core/send/line_breaks.h"

// The bytes behind the length line of a block without other fields.
static const char block_end[] = "\r\n";

size_t envelope_head(const struct wire *wire, char *out, size_t body_bytes) {
    size_t count = wire->head ? wire->head(out, body_bytes) : 0;
    if (!wire->has_fields)
        return count;
    memcpy(out + count, block_end, sizeof block_end - 1);
    return count + sizeof block_end - 1;
}

// Extends the first piece by the `bytes` before it: the whole block, or the part of the block behind its length line.
// The block must lie right before the body.
static void grow_backwards(struct parcel *parcel, size_t bytes) {
    struct piece *first = &parcel->pieces[0];
    assert(first->bytes == parcel->block + parcel->block_bytes && bytes <= parcel->block_bytes);
    *first = (struct piece){(const uint8_t *)first->bytes - bytes, first->count + bytes};
    parcel->bytes += bytes;
}

// Adds the header fields that came with the body, and the end of the block.
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

// Adds the hub's own line before the header fields that came with the body.
static void put_added(struct parcel *parcel) {
    const struct wire_line *added = parcel->added;
    assert(memcmp(added->text + added->bytes - 2, "\r\n\r\n", 4) == 0 && !parcel->head_fields);
    parcel->head_fields = PARCEL_ADDED;
    parcel->added_bytes = added->bytes + (parcel->block ? 0 : (uint32_t)sizeof block_end - 1);
    parcel->bytes += parcel->added_bytes;
    if (parcel->block)
        put_fields(parcel);
}

// Adds the parcel's own head. A long head becomes the first piece; a short head lies in inline_text, as a wire's head
// does.
static void put_own_head(struct parcel *parcel) {
    struct piece *pieces = parcel->pieces;
    parcel->bytes += parcel->head_count;
    if (!parcel->long_head) {
        parcel->head_bytes = (uint8_t)parcel->head_count;
        return;
    }
    assert(parcel->piece_count < PARCEL_PIECES_MAX);
    memmove(pieces + 1, pieces, parcel->piece_count * sizeof *pieces);
    pieces[0] = (struct piece){parcel->head, parcel->head_count};
    parcel->piece_count++;
}

static inline void put_head(struct parcel *parcel, const struct wire *wire, size_t body_bytes) {
    if (parcel->has_head) {
        put_own_head(parcel);
        return;
    }
    if (wire->has_fields && parcel->canonical && !parcel->has_added) {
        grow_backwards(parcel, parcel->block_bytes);
        return;
    }
    size_t count;
    if (wire->has_fields && parcel->has_added) {
        count = wire->head(parcel->inline_text, body_bytes);
        put_added(parcel);
    } else if (wire->has_fields && parcel->block) {
        count = wire->head(parcel->inline_text, body_bytes);
        put_fields(parcel);
    } else {
        count = envelope_head(wire, parcel->inline_text, body_bytes);
    }
    assert(count <= PARCEL_HEAD_BYTES_MAX); // the bytes that fill holes lie behind that
    parcel->head_bytes = (uint8_t)count;
    parcel->bytes += count;
}

static void put_behind(struct parcel *parcel, const char *text, size_t count) {
    if (count == 0)
        return;
    assert(parcel->piece_count < PARCEL_PIECES_MAX);
    parcel->pieces[parcel->piece_count++] = (struct piece){text, count};
    parcel->bytes += count;
}

void parcel_encode(struct parcel *parcel, const struct wire *wire) {
    assert(!parcel->is_encoded && !parcel->unfinished && parcel->hole_count == 0);
    if (wire->breaks != BREAKS_PASS)
        line_breaks_settle(parcel, wire);
    put_head(parcel, wire, parcel->bytes);
    put_behind(parcel, wire->tail, wire->tail_bytes);
    parcel->is_encoded = true;
}

void parcel_encode_chain(struct parcel *first, const struct wire *wire, size_t bytes, const char *behind) {
    size_t behind_bytes = strlen(behind);
    for (struct parcel *parcel = first; parcel; parcel = parcel->next) {
        assert(!parcel->is_encoded && parcel->hole_count == 0);
        assert(parcel->unfinished == (parcel->next != NULL));
        if (wire->breaks != BREAKS_PASS)
            line_breaks_settle(parcel, wire);
        if (parcel == first)
            put_head(parcel, wire, bytes + behind_bytes);
        if (!parcel->unfinished) {
            put_behind(parcel, behind, behind_bytes);
            put_behind(parcel, wire->tail, wire->tail_bytes);
        }
        parcel->is_encoded = true;
    }
}
