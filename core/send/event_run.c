#include "core/send/event_run.h"

#include <assert.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/send/envelope.h"
#include "core/send/line_breaks.h"

enum { BLANK_LINE_BYTES = 2 };

static uint32_t tail_of(const struct frame *frame) {
    return frame->unit->bytes - frame->unit->body_at - frame->unit->body_bytes;
}

// Returns whether the body could be written anew: the body came without header fields, and is small enough to copy.
static bool may_be_encoded(const struct frame *frame) {
    const struct unit *unit = frame->unit;
    bool bare = !unit->length_line_bytes ||
                (unit->canonical && unit->body_at == unit->length_line_bytes + BLANK_LINE_BYTES);
    return bare && unit->body_bytes <= COPY_BYTES_MAX;
}

bool event_run_takes(const struct frame *frame) {
    const struct unit *unit = frame->unit;
    bool whole = frame->body.at == frame->at + unit->body_at && frame->body.bytes == unit->body_bytes;
    return frame_is_canonical(frame) || (whole && may_be_encoded(frame));
}

static uint32_t end_of(const struct event_run *run) {
    return run->count ? run->at + run->ends[run->count - 1] : run->at;
}

// Returns whether the frame lies right behind the run or, if the bodies are written anew, anywhere behind the run.
static bool is_behind_run(const struct event_run *run, const struct frame *frame) {
    if (run->encodable && may_be_encoded(frame))
        return frame->at >= end_of(run);
    return run->canonical && frame_is_canonical(frame) && frame->at == end_of(run);
}

bool event_run_goes_on(const struct event_run *run, const struct event_place *event) {
    const struct frame *frame = event->frame;
    assert(run->count == 0 || run->buffer->references > 0);
    return run->count > 0 && run->count < EVENT_RUN_MAX && run->buffer == frame->buffer &&
           is_behind_run(run, frame) && run->source == event->source && run->tail == tail_of(frame) &&
           run->required == event->required && run->lane == event->lane &&
           run->name_bytes == event->name_bytes && memcmp(run->name, event->name, event->name_bytes) == 0;
}

void event_run_begin(struct event_run *run, const struct event_place *event) {
    assert(run->count == 0 && event->name_bytes <= EVENT_BYTES_MAX);
    assert(event->frame->buffer->references > 0);
    buffer_hold(event->frame->buffer);
    run->buffer = event->frame->buffer;
    run->source = event->source;
    run->canonical = run->encodable = true; // until a frame of the run isn't
    run->tail = tail_of(event->frame);
    run->at = event->frame->at;
    run->required = event->required;
    run->lane = event->lane;
    run->name_bytes = event->name_bytes;
    memcpy(run->name, event->name, event->name_bytes);
}

void event_run_add(struct event_run *run, const struct event_place *event) {
    assert(run->count < EVENT_RUN_MAX);
    const struct frame *frame = event->frame;
    uint32_t gap = frame->at - end_of(run);
    assert(run->buffer == frame->buffer && frame->at >= end_of(run));
    run->canonical = run->canonical && frame_is_canonical(frame) && gap == 0;
    run->encodable = run->encodable && may_be_encoded(frame);
    assert(run->canonical || run->encodable);
    run->heads[run->count] = gap + frame->unit->body_at;
    run->ends[run->count++] = frame->at + frame->unit->bytes - run->at;
}

// --- Frame runs

static const uint8_t *body_at(const struct parcel *frame_run, struct span body) {
    assert(body.at + body.bytes <= frame_run->pieces[0].count);
    return (const uint8_t *)frame_run->pieces[0].bytes + body.at;
}

static size_t room_for(const struct parcel *frame_run, const struct wire *wire, const struct span *bodies,
                       unsigned count) {
    size_t bytes = count * (PARCEL_HEAD_BYTES_MAX + wire->tail_bytes);
    for (unsigned index = 0; index < count; index++)
        bytes += line_breaks_write(wire, body_at(frame_run, bodies[index]), bodies[index].bytes, NULL);
    return bytes;
}

static size_t write_one(const struct wire *wire, const uint8_t *body, size_t count, char *to) {
    size_t bytes = envelope_head(wire, to, count);
    bytes += line_breaks_write(wire, body, count, to + bytes);
    memcpy(to + bytes, wire->tail, wire->tail_bytes);
    return bytes + wire->tail_bytes;
}

struct parcel *frame_run_encode(struct parcel_pool *pool, const struct parcel *frame_run,
                                const struct wire *wire, const struct span *bodies, uint32_t *ends,
                                unsigned count) {
    assert(frame_run->piece_count == 1 && frame_run->hole_count == 0 && count > 0);
    size_t room = room_for(frame_run, wire, bodies, count), bytes = 0;
    bool fits = buffer_budget_has_room(pool->budget, room + sizeof *frame_run, BUDGET_RECEIVING);
    char *text = fits ? memory_take(room) : NULL;
    if (!text)
        return NULL;
    for (unsigned index = 0; index < count; index++) {
        bytes += write_one(wire, body_at(frame_run, bodies[index]), bodies[index].bytes, text + bytes);
        ends[index] = (uint32_t)bytes;
    }
    assert(bytes <= room);
    struct parcel *encoded = parcel_from_text(pool, text, bytes);
    if (!encoded) {
        memory_give(text);
        return NULL;
    }
    encoded->mail.came_us = frame_run->mail.came_us;
    encoded->lane = frame_run->lane;
    encoded->frames = count;
    encoded->is_encoded = true;
    return encoded;
}
