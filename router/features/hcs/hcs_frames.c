#include "router/features/hcs/hcs_frames.h"

#include <assert.h>
#include <string.h>

#include "core/base/text.h"
#include "router/engine/shard/shard.h"
#include "router/features/hcs/hcs_shard.h"

const char *hcs_type_text(enum hcs_type type) {
    static const char *const texts[TYPES_COUNT] = {
#define X(name, text) text,
        STREAM_TYPES(X)
#undef X
    };
    assert(type < TYPES_COUNT);
    return texts[type];
}

enum { HCS_TYPE_SHIFT = 53, LOD_SHIFT = 56, ENDS_SHIFT = 58 };

uint64_t hcs_tag_pack(struct hcs_tag tag) {
    assert(tag.seq >> HCS_TYPE_SHIFT == 0 && tag.type < TYPES_COUNT && tag.lod <= LOD_ATOMIC);
    return tag.seq | (uint64_t)tag.type << HCS_TYPE_SHIFT | (uint64_t)tag.lod << LOD_SHIFT |
           (uint64_t)tag.ends << ENDS_SHIFT;
}

struct hcs_tag hcs_tag_unpack(uint64_t packed) {
    return (struct hcs_tag){
        .type = (enum hcs_type)(packed >> HCS_TYPE_SHIFT & 7),
        .lod = (enum stream_lod)(packed >> LOD_SHIFT & 3),
        .ends = packed >> ENDS_SHIFT & 1,
        .seq = packed & ((UINT64_C(1) << HCS_TYPE_SHIFT) - 1),
    };
}

static const char *const codes[] = {
    [HCS_FRAMES_INVALID_REQUEST] = "INVALID_REQUEST",
    [HCS_FRAMES_INTERNAL] = "INTERNAL",
    [HCS_FRAMES_STREAM_TIMEOUT] = "STREAM_TIMEOUT",
};

static void put_string(struct text *body, const char *key, const char *value, size_t bytes) {
    if (!value)
        return;
    text_put(body, ",\"");
    text_put(body, key);
    text_put(body, "\":");
    text_string(body, value, bytes);
}

static void begin(struct text *body, const char *type, const struct hcs_frame_subject *subject) {
    text_init(body);
    text_put(body, "{\"type\":\"");
    text_put(body, type);
    text_put(body, "\"");
    put_string(body, "request_id", subject->request_id, subject->request_id_bytes);
    put_string(body, "session_id", subject->id, subject->id_bytes);
}

static struct parcel *end(struct shard *shard, struct text *body) {
    text_put(body, "}");
    struct parcel *parcel =
        body->failed ? NULL : parcel_from_text(&shard->parcels, body->bytes, body->length);
    if (!parcel)
        text_deinit(body);
    return parcel;
}

struct parcel *hcs_frames_error(struct shard *shard, struct hcs_frame_subject subject,
                                enum hcs_frames_code code, const char *message, bool retriable,
                                const char *refused, size_t refused_bytes) {
    struct text body;
    assert(message && (size_t)code < sizeof codes / sizeof *codes);
    begin(&body, "error", &subject);
    put_string(&body, "code", codes[code], strlen(codes[code]));
    put_string(&body, "message", message, strlen(message));
    text_put(&body, retriable ? ",\"retriable\":true" : ",\"retriable\":false");
    if (retriable)
        text_put(&body,
                 ",\"options\":[{\"action\":\"retry\"},{\"action\":\"backoff\",\"hint\":\"500-1500ms\"}]");
    put_string(&body, "refused", refused, refused_bytes);
    stats_count(&shard->stats, FEATURE_COUNTER(FEATURE_HCS, HCS_COUNT_ERRORS));
    return end(shard, &body);
}

static void begin_control(struct text *body, const struct hcs_frame_subject *subject, const char *action,
                          const char *reason) {
    begin(body, "control", subject);
    put_string(body, "action", action, strlen(action));
    put_string(body, "reason", reason, strlen(reason));
}

struct parcel *hcs_frames_control(struct shard *shard, struct hcs_frame_subject subject, const char *action,
                                  const char *reason) {
    struct text body;
    begin_control(&body, &subject, action, reason);
    return end(shard, &body);
}

// Puts a seq, or the number after the last possible seq.
static void put_number(struct text *body, const char *previous, uint64_t number) {
    assert(number <= UINT64_C(1) << 53);
    text_put(body, previous);
    text_number(body, (int64_t)number);
}

struct parcel *hcs_frames_shed(struct shard *shard, struct hcs_frame_subject subject,
                               const struct shed *shed) {
    struct text body;
    assert(shed_any(shed));
    begin_control(&body, &subject, "relax", "backpressure");
    put_number(&body, ",\"shed\":{\"atomic\":", shed->atomic);
    put_number(&body, ",\"micro\":", shed->micro);
    put_number(&body, ",\"from\":", shed->from);
    put_number(&body, ",\"to\":", shed->to);
    text_put(&body, "}");
    return end(shard, &body);
}

struct parcel *hcs_frames_gone(struct shard *shard, struct hcs_frame_subject subject,
                               const uint64_t *after_seq, uint64_t first_seq) {
    struct text body;
    begin_control(&body, &subject, "flush", "backpressure");
    text_put(&body, ",\"gone\":{");
    if (after_seq)
        put_number(&body, "\"after_seq\":", *after_seq);
    put_number(&body, after_seq ? ",\"first_seq\":" : "\"first_seq\":", first_seq);
    text_put(&body, "}");
    return end(shard, &body);
}

struct parcel *hcs_frames_start(struct shard *shard, struct hcs_frame_subject subject, const char *user_id,
                                size_t user_id_bytes) {
    struct text body;
    begin(&body, "start", &subject);
    put_string(&body, "user_id", user_id, user_id_bytes);
    return end(shard, &body);
}
