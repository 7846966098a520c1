#include "core/send/pack.h"

#include <assert.h>
#include <string.h>

#include "core/wire/frame.h"

// A request in the pack. The entries lie at the end of the buffer, the first entry last.
struct entry {
    uint64_t hub_id;
    uint32_t at;
    uint32_t bytes;
};

enum { MOVE_BYTES = 64 }; // bytes copied at once if the body has as many

static uint8_t *bytes_of(const struct parcel *pack) {
    assert(pack->packed && pack->piece_count == 1);
    return pack->buffer->bytes;
}

// Returns the end of the entries: the buffer's capacity rounded down to whole entries.
static struct entry *entries_end(const struct parcel *pack) {
    static_assert(offsetof(struct buffer, bytes) % _Alignof(struct entry) == 0, "entries are aligned");
    return (struct entry *)(void *)(bytes_of(pack) +
                                    pack->buffer->capacity / sizeof(struct entry) * sizeof(struct entry));
}

struct parcel *pack_create(struct parcel_pool *pool, struct buffer_pool *buffers) {
    struct buffer *buffer = buffer_take(buffers);
    struct parcel *pack = buffer ? parcel_frame_run(pool, buffer, (struct span){0, 1}, 1) : NULL;
    buffer_drop(buffer); // the parcel has a reference of its own
    if (!pack)
        return NULL;
    pack->packed = true;
    pack->bytes = pack->pieces[0].count = 0;
    pack->frames = pack->requests = 0;
    return pack;
}

bool pack_takes(const struct frame *frame) {
    const struct unit *unit = frame->unit;
    bool is_bare = unit->length_line_bytes == 0 ||
                   (unit->length_line_at == 0 && unit->body_at == unit->length_line_bytes + 2);
    return is_bare && frame->body.bytes <= COPY_BYTES_MAX;
}

// Copies the first `count` bytes of the body. May copy up to MOVE_BYTES, since the caller overwrites the rest. Bytes
// behind the body aren't copied: a token that must not be kept may lie there.
static inline void copy_begin(uint8_t *out, const struct frame *frame, size_t count) {
    const uint8_t *from = frame_body(frame);
    if (count <= MOVE_BYTES && frame->body.bytes >= MOVE_BYTES)
        memcpy(out, from, MOVE_BYTES);
    else
        memcpy(out, from, count);
}

static uint8_t *put(uint8_t *out, struct piece piece) {
    assert(piece.bytes && piece.count > 0);
    memcpy(out, piece.bytes, piece.count);
    return out + piece.count;
}

// Writes the header block: the length line, the line that the hub adds, and the empty line.
static inline uint8_t *put_block(uint8_t *out, const struct frame *frame, size_t body) {
    const struct wire_line *added = frame->added;
    out += frame_length_line((char *)out, body);
    if (__builtin_expect(added != NULL, false)) {
        assert(memcmp(added->text + added->bytes - 2, "\r\n\r\n", 4) == 0);
        memcpy(out, added->text, added->bytes);
        out += added->bytes;
    }
    memcpy(out, "\r\n", 2);
    return out + 2;
}

bool pack_add(struct parcel *pack, const struct frame *frame, struct span value, struct piece text,
              uint64_t hub_id, const struct pack_envelope *envelope) {
    struct entry *entries = entries_end(pack) - pack->requests;
    uint8_t *begin = bytes_of(pack) + pack->bytes, *out = begin;
    uint32_t behind = value.at + value.bytes, rest = frame->body.bytes - behind;
    size_t body = value.at + text.count + rest;
    assert(pack_takes(frame) && behind <= frame->body.bytes);
    size_t around = envelope ? envelope->head.count + envelope->tail.count
                             : PARCEL_HEAD_BYTES_MAX + (frame->added ? frame->added->bytes : 0);
    if ((size_t)((uint8_t *)(entries - 1) - begin) < around + body + MOVE_BYTES)
        return false;
    out = envelope ? put(out, envelope->head) : put_block(out, frame, body);
    copy_begin(out, frame, value.at);
    out += value.at;
    memcpy(out, text.bytes, text.count);
    out += text.count;
    memcpy(out, frame_body(frame) + behind, rest);
    out += rest;
    if (envelope)
        out = put(out, envelope->tail);
    uint32_t bytes = (uint32_t)(out - begin);
    if (hub_id) {
        entries[-1] = (struct entry){hub_id, (uint32_t)pack->bytes, bytes};
        pack->requests++;
    }
    pack->bytes += bytes;
    pack->pieces[0].count = pack->bytes;
    pack->frames++;
    return true;
}

static struct entry *find(const struct parcel *pack, uint64_t hub_id) {
    struct entry *end = entries_end(pack);
    assert(hub_id);
    for (struct entry *entry = end - pack->requests; entry < end; entry++)
        if (entry->hub_id == hub_id)
            return entry;
    return NULL;
}

bool pack_has(const struct parcel *pack, uint64_t hub_id) {
    return find(pack, hub_id) != NULL;
}

size_t pack_remove(struct parcel *pack, uint64_t hub_id) {
    struct entry *entry = find(pack, hub_id), *first = entries_end(pack) - pack->requests;
    assert(entry && pack->frames > 1);
    uint8_t *bytes = bytes_of(pack);
    uint32_t at = entry->at, count = entry->bytes;
    assert(at + count <= pack->bytes && pack->frames > 0);
    memmove(bytes + at, bytes + at + count, pack->bytes - at - count);
    for (struct entry *later = first; later < entry; later++)
        later->at -= count;
    memmove(first + 1, first, (size_t)(entry - first) * sizeof *first);
    pack->requests--;
    pack->frames--;
    pack->bytes -= count;
    pack->pieces[0].count = pack->bytes;
    return count;
}
