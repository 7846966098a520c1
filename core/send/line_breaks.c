// A line break between the tokens of a text is white space, and inside a string a line break isn't JSON. So the text
// means the same however its line breaks are rewritten. Spaces replace line breaks in place; split lines need more
// room.
#include "core/send/line_breaks.h"

#include <assert.h>
#include <string.h>

#include "core/base/memory.h"

static bool is_break(uint8_t byte) {
    return byte == '\r' || byte == '\n';
}

static bool has_break(const uint8_t *bytes, size_t count) {
    return memchr(bytes, '\n', count) || memchr(bytes, '\r', count);
}

bool parcel_breaks(const struct parcel *parcel) {
    for (unsigned index = 0; index < parcel->piece_count; index++)
        if (parcel->pieces[index].count &&
            has_break(parcel->pieces[index].bytes, parcel->pieces[index].count))
            return true;
    return false;
}

bool frame_run_has_break(const struct parcel *parcel, struct span body) {
    const struct piece *piece = &parcel->pieces[0];
    assert(parcel->piece_count == 1 && body.at + body.bytes <= piece->count);
    return has_break((const uint8_t *)piece->bytes + body.at, body.bytes);
}

// --- Spaces

static void replace_breaks(struct parcel *parcel) {
    for (unsigned index = 0; index < parcel->piece_count; index++) {
        union {
            const void *from;
            uint8_t *to;
            // Received bytes are sent, and sending has them const
        } unconst = {.from = parcel->pieces[index].bytes};
        for (size_t at = 0; at < parcel->pieces[index].count; at++)
            if (is_break(unconst.to[at]))
                unconst.to[at] = ' ';
    }
    parcel->breaks = BREAKS_SPACES;
}

// --- Lines

// Writes text and splits its lines; without `to` the splitter only counts.
struct splitter {
    const char *between;
    size_t between_bytes;
    char *to;
    size_t bytes;  // bytes written so far
    bool after_cr; // the last byte was a CR: a line feed now belongs to the same break
};

static struct splitter splitter_for(const struct wire *wire, char *to) {
    assert(wire->breaks == BREAKS_SPLIT && wire->between_lines);
    return (struct splitter){
        .between = wire->between_lines, .between_bytes = strlen(wire->between_lines), .to = to};
}

static void put(struct splitter *splitter, const void *bytes, size_t count) {
    if (splitter->to)
        memcpy(splitter->to + splitter->bytes, bytes, count);
    splitter->bytes += count;
}

static void split(struct splitter *splitter, const uint8_t *bytes, size_t count) {
    size_t line = 0;
    for (size_t at = 0; at < count; at++) {
        if (!is_break(bytes[at])) {
            splitter->after_cr = false;
            continue;
        }
        put(splitter, bytes + line, at - line);
        line = at + 1;
        if (bytes[at] == '\r' || !splitter->after_cr)
            put(splitter, splitter->between, splitter->between_bytes);
        splitter->after_cr = bytes[at] == '\r';
    }
    put(splitter, bytes + line, count - line);
}

static size_t split_body(const struct parcel *parcel, const struct wire *wire, char *to) {
    struct splitter splitter = splitter_for(wire, to);
    for (unsigned index = 0; index < parcel->piece_count; index++)
        split(&splitter, parcel->pieces[index].bytes, parcel->pieces[index].count);
    return splitter.bytes;
}

static bool split_lines(struct parcel *parcel, const struct wire *wire) {
    size_t count = split_body(parcel, wire, NULL);
    char *text = parcel_text_take(parcel, count);
    if (!text)
        return false;
    split_body(parcel, wire, text);
    parcel_retext(parcel, text, count);
    parcel->breaks = BREAKS_SPLIT;
    return true;
}

void line_breaks_settle(struct parcel *parcel, const struct wire *wire) {
    assert(!parcel->is_encoded && parcel->hole_count == 0);
    if (wire->breaks == BREAKS_PASS || parcel->breaks == wire->breaks)
        return;
    // Many receivers share the body, whose line breaks were checked once
    assert(!parcel->shared_from || !parcel_breaks(parcel));
    if (parcel->shared_from || !parcel_breaks(parcel))
        return;
    assert(parcel->breaks == BREAKS_PASS);
    if (wire->breaks == BREAKS_SPACES || !split_lines(parcel, wire))
        replace_breaks(parcel);
}

// --- Copies

static void write_flat(const uint8_t *body, size_t count, char *to) {
    for (size_t at = 0; at < count; at++)
        to[at] = is_break(body[at]) ? ' ' : (char)body[at];
}

size_t line_breaks_write(const struct wire *wire, const uint8_t *body, size_t count, char *to) {
    if (wire->breaks == BREAKS_SPLIT && has_break(body, count)) {
        struct splitter splitter = splitter_for(wire, to);
        split(&splitter, body, count);
        return splitter.bytes;
    }
    if (to && wire->breaks == BREAKS_SPACES)
        write_flat(body, count, to);
    else if (to)
        memcpy(to, body, count);
    return count;
}

// Makes a parcel of `count` bytes. The caller must write the bytes to *text. Returns NULL without memory or room in the
// budget.
static struct parcel *copy_of(struct parcel_pool *pool, const struct parcel *parcel, size_t count,
                              char **text) {
    enum budget_use use = parcel->shared_from ? BUDGET_PLENTY : BUDGET_RECEIVING;
    bool fits = buffer_budget_has_room(pool->budget, count + sizeof *parcel, use);
    *text = fits ? memory_take(count) : NULL;
    struct parcel *copy = *text ? parcel_from_text(pool, *text, count) : NULL;
    if (!copy) {
        memory_give(*text);
        return NULL;
    }
    copy->lane = parcel->lane;
    copy->frames = parcel->frames;
    copy->breaks = BREAKS_SPLIT;
    return copy;
}

static struct parcel *flat_copy_of(struct parcel_pool *pool, const struct parcel *parcel) {
    struct parcel *flat = parcel_copy_of(pool, parcel);
    if (flat)
        replace_breaks(flat);
    return flat;
}

struct parcel *parcel_broken_for(struct parcel_pool *pool, const struct parcel *parcel,
                                 const struct wire *wire) {
    char *text;
    assert(wire->breaks != BREAKS_PASS && !parcel->is_encoded && parcel->breaks == BREAKS_PASS);
    if (wire->breaks == BREAKS_SPACES)
        return flat_copy_of(pool, parcel);
    struct parcel *copy = copy_of(pool, parcel, split_body(parcel, wire, NULL), &text);
    if (copy)
        split_body(parcel, wire, text);
    return copy;
}

// Writes the bodies of a frame run with split lines, and sets `bodies` to the spans of the copies. Without `to` the
// function only counts. Returns the length in bytes.
static size_t split_bodies(const struct parcel *parcel, const struct wire *wire, struct span *bodies,
                           unsigned count, char *to) {
    const uint8_t *frames = parcel->pieces[0].bytes;
    struct splitter splitter = splitter_for(wire, to);
    for (unsigned index = 0; index < count; index++) {
        struct span body = bodies[index];
        size_t at = splitter.bytes;
        splitter.after_cr = false;
        split(&splitter, frames + body.at, body.bytes);
        if (to)
            bodies[index] = (struct span){(uint32_t)at, (uint32_t)(splitter.bytes - at)};
    }
    return splitter.bytes;
}

struct parcel *frame_run_broken_for(struct parcel_pool *pool, const struct parcel *parcel,
                                    const struct wire *wire, struct span *bodies, unsigned count) {
    char *text;
    assert(parcel->piece_count == 1 && parcel->is_encoded && parcel->breaks == BREAKS_PASS && count > 0);
    if (wire->breaks == BREAKS_SPACES)
        return flat_copy_of(pool, parcel); // the bodies have the same spans in the copy
    struct parcel *copy = copy_of(pool, parcel, split_bodies(parcel, wire, bodies, count, NULL), &text);
    if (!copy)
        return NULL;
    split_bodies(parcel, wire, bodies, count, text);
    copy->is_encoded = true; // frame runs count as encoded until parcel_narrow
    return copy;
}
