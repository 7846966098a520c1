#include "core/send/stretch.h"

#include <assert.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/send/envelope.h"
#include "core/send/line_breaks.h"

static const uint8_t *body_at(const struct parcel *stretch, struct span body) {
    assert(body.at + body.bytes <= stretch->pieces[0].count);
    return (const uint8_t *)stretch->pieces[0].bytes + body.at;
}

static size_t room_for(const struct parcel *stretch, const struct wire *wire, const struct span *bodies,
                       unsigned count) {
    size_t bytes = count * (PARCEL_HEAD_BYTES_MAX + wire->tail_bytes);
    for (unsigned index = 0; index < count; index++)
        bytes += line_breaks_write(wire, body_at(stretch, bodies[index]), bodies[index].bytes, NULL);
    return bytes;
}

static size_t write_one(const struct wire *wire, const uint8_t *body, size_t count, char *to) {
    size_t bytes = envelope_head(wire, to, count);
    bytes += line_breaks_write(wire, body, count, to + bytes);
    memcpy(to + bytes, wire->tail, wire->tail_bytes);
    return bytes + wire->tail_bytes;
}

struct parcel *stretch_dressed(struct parcel_pool *pool, const struct parcel *stretch,
                               const struct wire *wire, const struct span *bodies, uint32_t *ends,
                               unsigned count) {
    assert(stretch->piece_count == 1 && stretch->hole_count == 0 && count > 0);
    size_t room = room_for(stretch, wire, bodies, count), bytes = 0;
    bool fits = buffer_budget_has_room(pool->budget, room + sizeof *stretch, BUDGET_RECEIVING);
    char *text = fits ? memory_take(room) : NULL;
    if (!text)
        return NULL;
    for (unsigned index = 0; index < count; index++) {
        bytes += write_one(wire, body_at(stretch, bodies[index]), bodies[index].bytes, text + bytes);
        ends[index] = (uint32_t)bytes;
    }
    assert(bytes <= room);
    struct parcel *dressed = parcel_own(pool, text, bytes);
    if (!dressed) {
        memory_give(text);
        return NULL;
    }
    dressed->mail.came_us = stretch->mail.came_us;
    dressed->lane = stretch->lane;
    dressed->frames = count;
    dressed->dressed = true;
    return dressed;
}
