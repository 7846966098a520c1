#include "router/features/cluster/hub_message.h"

#include <assert.h>

#include "router/engine/send/reply.h"

// Another hub has let it in by the same limits, and then made it longer: by the ids that it has here, and a canonical head.
enum { GROWTH_BYTES_MAX = 1024 };

static struct unit_limits limits_of(const struct shard *shard, const struct hub_header *header) {
    struct unit_limits limits = shard->unit_limits;
    uint32_t more = header->has_hub ? GROWTH_BYTES_MAX : 0;
    return (struct unit_limits){limits.header_bytes_max + more, limits.body_bytes_max + more};
}

// The level may be less than the field says: once that was approved. What can't be read no hub lets out, but whoever may publish.
static void direct(struct directives *directives, const struct hub_header *header) {
    directives->governance = header->level;
    directives->governance_given = header->level != GOVERNANCE_AUTONOMOUS;
    directives->timeout_given = header->time_ms > 0;
    if (header->time_ms)
        directives->timeout_ms = header->time_ms;
}

// No fields: the body is what the server says that it is.
static bool open_bare(const struct frame *frame, const struct unit_limits *limits, struct hub_message *out,
                      enum error *error) {
    const struct unit *unit = frame->unit;
    out->unit.sized = true;
    out->unit.body_at = unit->body_at;
    out->unit.body_bytes = unit->body_bytes;
    out->unit.bytes = unit->body_at + unit->body_bytes;
    out->frame = frame_at(frame->buffer, frame->at, &out->unit);
    if (unit->body_bytes > limits->body_bytes_max)
        *error = ERROR_FRAME_TOO_LARGE;
    return unit->body_bytes > 0 && *error == ERROR_PARSE;
}

// Behind the hubs' own line: a block with fields, of which one says how long the body is.
static bool open_frame(const struct frame *frame, uint32_t at, const struct unit_limits *limits,
                       struct hub_message *out, enum error *error) {
    const struct unit *unit = frame->unit;
    uint32_t count = unit->body_at + unit->body_bytes - at;
    assert(at <= unit->body_at);
    bool whole = frame_scan(&out->unit, frame->buffer->bytes + frame->at + at, count, limits) == UNIT_WHOLE;
    if (out->unit.fault && unit_fault_is_limit(out->unit.fault))
        *error = ERROR_FRAME_TOO_LARGE;
    if (!whole || out->unit.bytes != count)
        return false;
    out->frame = frame_at(frame->buffer, frame->at + at, &out->unit);
    return true;
}

bool hub_message_read_body(struct shard *shard, const struct frame *frame, const struct nats_message *said,
                           struct hub_message *out, enum error *error) {
    const struct hub_header *header = &out->header;
    struct unit_limits limits = limits_of(shard, header);
    uint32_t at = said->headers.at + header->bytes;
    bool has_fields = header->given && frame->unit->body_at - at > sizeof "\r\n" - 1;
    out->unit = (struct unit){0};
    *error = ERROR_PARSE;
    bool is_whole =
        has_fields ? open_frame(frame, at, &limits, out, error) : open_bare(frame, &limits, out, error);
    if (is_whole && header->given)
        direct(&out->unit.directives, header);
    return is_whole;
}

bool hub_message_read(struct shard *shard, const struct frame *frame, const struct nats_message *said,
                      struct hub_message *out, enum error *error) {
    hub_header_read(frame->buffer->bytes + frame->at, said->headers, &out->header);
    return hub_message_read_body(shard, frame, said, out, error);
}

bool hub_message_head_is_too_large(const struct hub_message *opened) {
    return opened->unit.fault == UNIT_FAULT_HEADER_TOO_LARGE;
}

void hub_message_put_excess(const struct shard *shard, bool by_head, uint64_t body_bytes, struct text *data) {
    const struct limits *limits = shard_limits(shard);
    reply_data_number(data, "limit", by_head ? limits->header_bytes_max : limits->frame_bytes_max);
    if (!by_head && body_bytes > limits->frame_bytes_max) // what its field says may be another matter
        reply_data_number(data, "bytes", (int64_t)body_bytes);
}

bool hub_message_is_array(const struct frame *frame) {
    const uint8_t *body = frame_body(frame);
    uint32_t at = json_skip_space(body, 0, frame->body.bytes);
    return at < frame->body.bytes && body[at] == '[';
}
