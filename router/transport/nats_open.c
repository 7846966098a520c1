#include "router/transport/nats_open.h"

#include <assert.h>

// Another hub has let it in by the same limits, and then made it longer: by the ids that it has here, and a canonical head.
enum { GROWTH_BYTES_MAX = 1024 };

static struct unit_limits limits_of(const struct shard *shard, const struct mark *mark) {
    struct unit_limits limits = shard->unit_limits;
    uint32_t more = mark->has_hub ? GROWTH_BYTES_MAX : 0;
    return (struct unit_limits){limits.header_bytes_max + more, limits.body_bytes_max + more};
}

static void direct(struct directives *directives, const struct mark *mark) {
    directives->governance = mark->level;
    directives->governance_given = mark->level != GOVERNANCE_AUTONOMOUS;
    directives->governance_bad = directives->timeout_bad = false;
    directives->timeout_given = mark->time_ms > 0;
    if (mark->time_ms)
        directives->timeout_ms = mark->time_ms;
}

bool nats_open(struct shard *shard, const struct frame *frame, const struct nats_message *said,
               struct opened *out, enum error *error) {
    const uint8_t *bytes = frame->buffer->bytes + frame->at;
    const struct unit *unit = frame->unit;
    out->unit = (struct unit){0};
    *error = ERROR_PARSE;
    mark_read(bytes, said->headers, &out->mark);
    if (!out->mark.given) {
        out->unit.sized = true;
        out->unit.body_at = unit->body_at;
        out->unit.body_bytes = unit->body_bytes;
        out->unit.bytes = unit->body_at + unit->body_bytes;
        out->frame = frame_at(frame->buffer, frame->at, &out->unit);
        if (unit->body_bytes > shard->unit_limits.body_bytes_max)
            *error = ERROR_FRAME_TOO_LARGE;
        return unit->body_bytes > 0 && *error == ERROR_PARSE;
    }
    uint32_t at = said->headers.at + out->mark.bytes, count = unit->body_at + unit->body_bytes - at;
    assert(at <= unit->body_at);
    struct unit_limits limits = limits_of(shard, &out->mark);
    bool whole = frame_scan(&out->unit, bytes + at, count, &limits) == UNIT_WHOLE;
    if (out->unit.fault && unit_fault_is_limit(out->unit.fault))
        *error = ERROR_FRAME_TOO_LARGE;
    if (!whole || out->unit.bytes != count)
        return false;
    direct(&out->unit.directives, &out->mark);
    out->frame = frame_at(frame->buffer, frame->at + at, &out->unit);
    return true;
}

bool nats_is_array(const struct frame *frame) {
    const uint8_t *body = frame_body(frame);
    uint32_t at = json_skip_space(body, 0, frame->body.bytes);
    return at < frame->body.bytes && body[at] == '[';
}
