#include "core/send/event_run.h"

#include <assert.h>
#include <string.h>

static uint32_t tail_of(const struct frame *frame) {
    return frame->unit->bytes - frame->unit->body_at - frame->unit->body_bytes;
}

bool event_run_takes(const struct frame *frame) {
    const struct unit *unit = frame->unit;
    bool whole = frame->body.at == frame->at + unit->body_at && frame->body.bytes == unit->body_bytes;
    return parcel_passes(frame) || (whole && !unit->length_line_bytes && unit->body_bytes <= COPY_BYTES_MAX);
}

bool event_run_goes_on(const struct event_run *run, const struct event_place *event) {
    const struct frame *frame = event->frame;
    assert(run->count == 0 || run->buffer->references > 0);
    return run->count > 0 && run->count < EVENT_RUN_MAX && run->buffer == frame->buffer &&
           run->at + run->ends[run->count - 1] == frame->at && run->source == event->source &&
           run->canonical == parcel_passes(frame) && run->tail == tail_of(frame) &&
           run->required == event->required && run->lane == event->lane &&
           run->name_bytes == event->name_bytes && memcmp(run->name, event->name, event->name_bytes) == 0;
}

void event_run_begin(struct event_run *run, const struct event_place *event) {
    assert(run->count == 0 && event->name_bytes <= EVENT_BYTES_MAX);
    assert(event->frame->buffer->references > 0);
    buffer_hold(event->frame->buffer);
    run->buffer = event->frame->buffer;
    run->source = event->source;
    run->canonical = parcel_passes(event->frame);
    run->tail = tail_of(event->frame);
    run->at = event->frame->at;
    run->required = event->required;
    run->lane = event->lane;
    run->name_bytes = event->name_bytes;
    memcpy(run->name, event->name, event->name_bytes);
}

void event_run_add(struct event_run *run, const struct event_place *event) {
    assert(run->count < EVENT_RUN_MAX);
    uint32_t before = run->count ? run->ends[run->count - 1] : 0;
    assert(run->buffer == event->frame->buffer && run->at + before == event->frame->at);
    run->heads[run->count] = event->frame->unit->body_at;
    run->ends[run->count++] = before + event->frame->unit->bytes;
}
