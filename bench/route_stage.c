// The route stage without router: the calls that a shard makes for one request and its response, in their
// order.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/stage.h"
#include "core/agents/rules.h"
#include "core/base/text.h"
#include "core/lookup/lookup.h"
#include "core/requests/pending.h"
#include "core/send/envelope.h"
#include "core/send/outbox.h"
#include "core/wire/frame.h"

enum { ID_AT_ROOM = 17, FIELDS_BYTES_MAX = 64 };

struct route_stage {
    struct buffer_budget budget;
    struct quota quota;
    struct buffer_pool buffers;
    struct parcel_pool parcels;
    struct stage stage;
    struct send_op send_op;
    struct outbox to_agent, to_source;
    struct pending_table pending;
    struct agents agents;
    struct wheel wheel;
    struct list asked;
    struct buffer *requests, *responses;
    uint32_t request_bytes, response_bytes, response_id_at; // of one frame
    uint32_t batch;
    uint64_t *hub_ids;
    size_t sent;
};

static const struct unit_limits frame_limits = {8192, 1 << 24};

static uint32_t no_load(const void *context, uint64_t connection) {
    (void)context, (void)connection;
    return 0;
}

// --- The frames

static uint32_t write_frame(uint8_t *out, const char *head, const char *tail, uint32_t body_bytes) {
    uint32_t filler = body_bytes - (uint32_t)(strlen(head) + strlen(tail));
    char line[FIELDS_BYTES_MAX];
    uint32_t at = (uint32_t)snprintf(line, sizeof line, "Content-Length: %u\r\n\r\n", body_bytes);
    memcpy(out, line, at);
    memcpy(out + at, head, strlen(head));
    at += (uint32_t)strlen(head);
    for (uint32_t byte = 0; byte < filler; byte++)
        out[at++] = (uint8_t)("the quick brown fox, "[byte % 21]);
    memcpy(out + at, tail, strlen(tail));
    return at + (uint32_t)strlen(tail);
}

static void fill(struct route_stage *stage, uint32_t body_bytes, int id_last) {
    const char *head =
        id_last
            ? "{\"jsonrpc\":\"2.0\",\"method\":\"task\",\"params\":{\"targetAgent\":\"agent\",\"x\":\""
            : "{\"jsonrpc\":\"2.0\",\"id\":12345,\"method\":\"task\",\"params\":{\"targetAgent\":\"agent\","
              "\"x\":\"";
    const char *tail = id_last ? "\"},\"id\":12345}" : "\"}}";
    stage->requests = buffer_take_sized(&stage->buffers, stage->batch * (body_bytes + FIELDS_BYTES_MAX));
    stage->responses = buffer_take_sized(&stage->buffers, stage->batch * (body_bytes + FIELDS_BYTES_MAX));
    for (uint32_t index = 0; index < stage->batch; index++) {
        stage->request_bytes =
            write_frame(stage->requests->bytes + index * stage->request_bytes, head, tail, body_bytes);
        stage->response_bytes = write_frame(
            stage->responses->bytes + index * stage->response_bytes,
            "{\"jsonrpc\":\"2.0\",\"id\":                 ,\"result\":{\"x\":\"", "\"}}", body_bytes);
    }
    const uint8_t *id = memmem(stage->responses->bytes, stage->response_bytes, "\"id\":", 5);
    stage->response_id_at = (uint32_t)(id + 5 - stage->responses->bytes);
}

struct route_stage *route_stage_open(uint32_t body_bytes, uint32_t batch, int id_last) {
    struct route_stage *stage = calloc(1, sizeof *stage);
    stage->budget.bytes_max = UINT64_C(1) << 32;
    buffer_pool_init(&stage->buffers, &stage->budget);
    parcel_pool_init(&stage->parcels, &stage->budget, 0);
    stage_init(&stage->stage, &stage->buffers);
    outbox_init(&stage->to_agent);
    outbox_init(&stage->to_source);
    quota_init(&stage->quota, &stage->budget);
    pending_table_init(&stage->pending, 0, &stage->quota);
    agents_init(&stage->agents, &(struct siphash_key){{1, 1}}, &stage->quota);
    wheel_init(&stage->wheel, 0);
    list_init(&stage->asked);
    struct capabilities *nothing = capabilities_create(&stage->quota, "{}", 2);
    agents_put(&stage->agents, &(struct agent_profile){
                                   .connection = 1, .id = "agent", .id_bytes = 5, .capabilities = nothing});
    capabilities_drop(&stage->quota, nothing);
    stage->batch = batch;
    stage->hub_ids = calloc(batch, sizeof *stage->hub_ids);
    fill(stage, body_bytes, id_last);
    return stage;
}

void route_stage_close(struct route_stage *stage) {
    buffer_drop(stage->requests);
    buffer_drop(stage->responses);
    stage_deinit(&stage->stage);
    pending_table_deinit(&stage->pending);
    agents_deinit(&stage->agents);
    parcel_pool_deinit(&stage->parcels);
    buffer_pool_deinit(&stage->buffers);
    free(stage->hub_ids);
    free(stage);
}

// --- A turn

static bool read_frame(const struct buffer *buffer, uint32_t at, uint32_t bytes, struct unit *scan,
                       struct lookup *lookup) {
    unit_begin(scan);
    if (frame_scan(scan, buffer->bytes + at, bytes, &frame_limits) != UNIT_WHOLE)
        return false;
    lookup_body(lookup, buffer->bytes + at + scan->body_at, scan->body_bytes, 256);
    return lookup->verdict == LOOKUP_GOOD;
}

static bool request(struct route_stage *stage, uint32_t index) {
    struct unit scan;
    struct lookup lookup;
    uint32_t at = index * stage->request_bytes;
    if (!read_frame(stage->requests, at, stage->requests->capacity - at, &scan, &lookup))
        return false;
    struct frame frame = frame_at(stage->requests, at, &scan);
    const uint8_t *body = frame_body(&frame);
    char method[255], target[255];
    struct rules_message message = {.method = method, .source = 2};
    message.method_bytes = json_string_decode(body, lookup.value[KEY_METHOD], method, sizeof method);
    message.target = (struct rules_field){
        .is_present = true,
        .is_string = lookup.type[KEY_TARGET_AGENT] == JSON_STRING,
        .text = target,
        .bytes = json_string_decode(body, lookup.value[KEY_TARGET_AGENT], target, sizeof target),
    };
    struct rules_verdict verdict = rules_route(&stage->agents, &message, no_load, NULL);
    if (verdict.error)
        return false;
    struct span id = lookup.value[KEY_ID];
    struct pending *pending = pending_add(&stage->pending, body + id.at, id.bytes);
    pending->target = verdict.agent->registrant->connection;
    list_append(&stage->asked, &pending->by_source);
    list_append(&verdict.agent->registrant->pending, &pending->by_target);
    wheel_arm(&stage->wheel, &pending->timer, 300000);
    stage->hub_ids[index] = pending_hub_id(&stage->pending, pending);
    char digits[20];
    struct parcel *parcel = parcel_create_with_holes(&stage->parcels, &frame, &id, 1);
    parcel_fill(parcel, &(struct piece){digits, text_digits(digits, stage->hub_ids[index])});
    parcel_encode(parcel, &wire_framed);
    outbox_add(&stage->to_agent, parcel);
    return true;
}

// The target writes the id where the response has room for it; white space fills what is left.
static void write_id(struct route_stage *stage, uint32_t index) {
    uint8_t *id = stage->responses->bytes + index * stage->response_bytes + stage->response_id_at;
    char digits[20];
    memset(id, ' ', ID_AT_ROOM);
    memcpy(id, digits, text_digits(digits, stage->hub_ids[index]));
}

static bool response(struct route_stage *stage, uint32_t index) {
    struct unit scan;
    struct lookup lookup;
    uint32_t at = index * stage->response_bytes;
    uint64_t hub_id;
    write_id(stage, index);
    if (!read_frame(stage->responses, at, stage->responses->capacity - at, &scan, &lookup))
        return false;
    struct frame frame = frame_at(stage->responses, at, &scan);
    if (!json_number_whole(frame_body(&frame), lookup.value[KEY_ID], &hub_id))
        return false;
    struct pending *pending = pending_find(&stage->pending, hub_id);
    struct parcel *parcel = parcel_create_with_holes(&stage->parcels, &frame, &lookup.value[KEY_ID], 1);
    if (!pending || pending->target != 1 ||
        !parcel_fill(parcel, &(struct piece){pending_id(pending), pending->id_bytes}))
        return false;
    pending_end(&stage->pending, pending);
    parcel_encode(parcel, &wire_framed);
    outbox_add(&stage->to_source, parcel);
    return true;
}

static void drop_all(struct parcel_list *done) {
    for (struct parcel *parcel; (parcel = parcel_list_take(done));)
        parcel_drop(parcel);
}

static void gather(struct route_stage *stage, struct outbox *outbox) {
    struct parcel_list done;
    parcel_list_init(&done);
    while (!outbox_empty(outbox)) {
        outbox_gather(outbox, &stage->stage, &stage->send_op, SEND_BYTES_MAX, &done);
        stage->sent += stage->send_op.bytes;
        drop_all(&done);
        send_op_clear(&stage->send_op, &done);
        drop_all(&done);
    }
}

size_t route_stage_turn(struct route_stage *stage) {
    stage->sent = 0;
    bool good = true;
    for (uint32_t index = 0; index < stage->batch; index++)
        good &= request(stage, index);
    gather(stage, &stage->to_agent);
    for (uint32_t index = 0; index < stage->batch; index++)
        good &= response(stage, index);
    gather(stage, &stage->to_source);
    return good ? stage->sent : 0;
}
