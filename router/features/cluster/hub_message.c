#include "router/features/cluster/hub_message.h"

#include <assert.h>

// Another hub has let it in by the same limits, and then made it longer: by the ids that it has here, and a canonical head.
enum { GROWTH_BYTES_MAX = 1024 };

static struct unit_limits limits_of(const struct shard *shard, const struct hub_header *header) {
    struct unit_limits limits = shard->unit_limits;
    uint32_t more = header->given ? GROWTH_BYTES_MAX : 0;
    return (struct unit_limits){limits.header_bytes_max + more, limits.body_bytes_max + more};
}

static bool open_bare(const struct frame *frame, const struct unit_limits *limits, struct hub_message *out,
                      enum error *error) {
    const struct unit *unit = frame->unit;
    out->unit.sized = true;
    out->unit.body_at = unit->body_at;
    out->unit.body_bytes = unit->body_bytes;
    out->unit.bytes = unit->body_at + unit->body_bytes;
    out->frame = frame_at(frame->buffer, frame->at, &out->unit);
    if (unit->body_bytes > limits->body_bytes_max) {
        *error = ERROR_FRAME_TOO_LARGE;
        out->excess = unit->body_bytes;
    }
    return unit->body_bytes > 0 && *error == ERROR_PARSE;
}

// How large the body is that is over the limit, as its frame says.
static uint64_t read_excess(const uint8_t *payload, uint32_t bytes, const struct unit_limits *limits) {
    struct unit unit = {0};
    struct unit_limits any = {limits->header_bytes_max, UINT32_MAX};
    frame_scan(&unit, payload, bytes, &any);
    return unit.sized ? unit.body_bytes : 0;
}

static bool open_frame(const struct frame *frame, const struct unit_limits *limits, struct hub_message *out,
                       enum error *error) {
    const struct unit *unit = frame->unit;
    const uint8_t *payload = frame->buffer->bytes + frame->at + unit->body_at;
    bool whole = frame_scan(&out->unit, payload, unit->body_bytes, limits) == UNIT_WHOLE;
    if (out->unit.fault && unit_fault_is_limit(out->unit.fault))
        *error = ERROR_FRAME_TOO_LARGE;
    if (out->unit.fault == UNIT_FAULT_BODY_TOO_LARGE)
        out->excess = read_excess(payload, unit->body_bytes, limits);
    if (!whole || out->unit.bytes != unit->body_bytes)
        return false;
    out->frame = frame_at(frame->buffer, frame->at + unit->body_at, &out->unit);
    return true;
}

bool hub_message_read(struct shard *shard, const struct frame *frame, struct hub_message *out,
                      enum error *error) {
    struct unit_limits limits = limits_of(shard, &out->header);
    out->unit = (struct unit){0};
    out->excess = 0;
    *error = ERROR_PARSE;
    assert(frame->unit->body_at + frame->unit->body_bytes <= frame->unit->bytes);
    bool is_whole =
        out->header.given ? open_frame(frame, &limits, out, error) : open_bare(frame, &limits, out, error);
    if (is_whole && out->header.time_ms) {
        out->unit.directives.timeout_is_left = !out->unit.directives.timeout_given;
        out->unit.directives.timeout_given = true;
        out->unit.directives.timeout_ms = out->header.time_ms;
    }
    if (is_whole)
        *error = ERROR_NONE;
    return is_whole;
}

bool hub_message_is_array(const struct frame *frame) {
    const uint8_t *body = frame_body(frame);
    uint32_t at = json_skip_space(body, 0, frame->body.bytes);
    return at < frame->body.bytes && body[at] == '[';
}
