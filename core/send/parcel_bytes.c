// Where the bytes of a parcel lie, in their order.
#include <assert.h>
#include <string.h>

#include "core/send/copy.h"
#include "core/send/parcel.h"

static inline struct piece field_piece(const struct parcel *parcel, unsigned which) {
    if (which == PARCEL_ADDED)
        return (struct piece){parcel->added->text, parcel->added_bytes};
    assert(parcel->block && (which == PARCEL_BEFORE || which == PARCEL_AFTER));
    uint32_t behind = parcel->line_at + parcel->line_bytes;
    return which == PARCEL_BEFORE ? (struct piece){parcel->block, parcel->line_at}
                                  : (struct piece){parcel->block + behind, parcel->block_bytes - behind};
}

// Not inlined: most have what the hub adds alone, or nothing.
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

// Where there is room, more is copied than counts: what lies behind it comes in its place.
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

unsigned parcel_pieces(const struct parcel *parcel, struct piece out[PARCEL_STRETCHES_MAX]) {
    unsigned count = 0;
    if (parcel->head_bytes)
        out[count++] = (struct piece){parcel->inline_text, parcel->head_bytes};
    for (unsigned which = PARCEL_ADDED; which <= PARCEL_AFTER; which <<= 1)
        if (parcel->head_fields & which)
            out[count++] = field_piece(parcel, which);
    for (unsigned index = 0; index < parcel->piece_count; index++)
        if (parcel->pieces[index].count)
            out[count++] = parcel->pieces[index];
    assert(count <= parcel_stretches(parcel));
    return count;
}
