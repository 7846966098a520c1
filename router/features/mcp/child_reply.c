#include "router/features/mcp/child_reply.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "router/engine/send/exchange.h"
#include "router/engine/send/reply.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/routing/route.h"

static bool fill(struct buffer *buffer, struct text *body) {
    if (buffer && !body->failed)
        memcpy(buffer->bytes, body->bytes, body->length);
    text_deinit(body);
    return buffer != NULL;
}

struct buffer *child_reply_frame(struct shard *shard, struct child *child, struct text *body,
                                 struct unit *unit, struct frame *frame) {
    assert(shard->index == connection_shard(child->stub->connection_id));
    uint32_t bytes = body->failed ? 0 : (uint32_t)body->length;
    struct buffer *buffer = bytes ? buffer_take_sized(&shard->buffers, bytes) : NULL;
    if (!fill(buffer, body)) {
        child_fail(shard, child, CHILD_FAULT_MEMORY, 0); // which ends the requests that the child owes
        return NULL;
    }
    assert(bytes > 0 && bytes <= buffer->capacity);
    *unit = (struct unit){.length_known = true, .bytes = bytes, .body_bytes = bytes};
    *frame = frame_at(buffer, 0, unit);
    return buffer;
}

void child_reply_send(struct shard *shard, struct child *child, struct text *body) {
    struct unit unit;
    struct frame frame;
    struct buffer *buffer = child_reply_frame(shard, child, body, &unit, &frame);
    if (!buffer)
        return;
    if (child->stub->state == PEER_OPEN)
        route_frame(shard, child->stub, &frame, NULL);
    buffer_drop(buffer);
}

void child_reply_answer(struct shard *shard, struct child *child, uint64_t hub_id, const char *member,
                        struct piece value) {
    struct text body;
    assert(hub_id && value.count > 0);
    text_init(&body);
    text_put(&body, "{\"jsonrpc\":\"2.0\",\"id\":");
    text_number(&body, (int64_t)hub_id);
    text_put(&body, ",\"");
    text_put(&body, member);
    text_put(&body, "\":");
    text_add(&body, value.bytes, value.count);
    text_put(&body, "}");
    child_reply_send(shard, child, &body);
}

// Returns the exchange of MCP over HTTP that waits for a request; or NULL. All such exchanges are of this shard.
static struct exchange *exchange_of(const struct shard *shard, uint64_t hub_id) {
    const struct pending *pending =
        hub_id_shard(hub_id) == shard->index ? pending_find(&shard->pending, hub_id) : NULL;
    return pending && pending->exchange && pending->exchange->is_mcp ? pending->exchange : NULL;
}

void child_reply_refuse(struct shard *shard, struct child *child, uint64_t hub_id, enum error error,
                        struct text *data) {
    struct text value;
    assert(error > ERROR_NONE && error < ERRORS_COUNT);
    text_init(&value);
    text_put(&value, "{\"code\":");
    text_number(&value, exchange_of(shard, hub_id) ? error_code_mcp(error) : error_code(error));
    text_put(&value, ",\"message\":\"");
    text_put(&value, error_text(error));
    text_put(&value, "\",\"data\":");
    if (data && data->length)
        text_add(&value, data->bytes, data->length);
    text_put(&value, data && data->length ? "}}" : "{}}");
    value.failed |= data && data->failed;
    if (value.failed)
        child_fail(shard, child, CHILD_FAULT_MEMORY, 0);
    else
        child_reply_answer(shard, child, hub_id, "error", (struct piece){value.bytes, value.length});
    text_deinit(&value);
    if (data)
        text_deinit(data);
}

void child_reply_refuse_named(struct shard *shard, struct child *child, uint64_t hub_id, enum error error) {
    struct text data;
    text_init(&data);
    reply_data_string(&data, "agent", child->settings->name, strlen(child->settings->name));
    child_reply_refuse(shard, child, hub_id, error, &data);
}

void child_reply_refuse_discover(struct shard *shard, struct child *child, uint64_t hub_id) {
    struct text data;
    text_init(&data);
    reply_data_text(&data, "method", "server/discover");
    child_reply_refuse(shard, child, hub_id, ERROR_METHOD_NOT_FOUND, &data);
}

void child_reply_refuse_parcel(struct shard *shard, struct child *child, struct parcel *parcel,
                               enum error error, uint32_t limit) {
    uint64_t hub_id = parcel->note ? parcel->hub_id : 0;
    assert(error > ERROR_NONE && !child->of);
    enum counter counter = error == ERROR_OVERLOADED         ? COUNT_DROP_OVERLOADED
                           : error == ERROR_METHOD_NOT_FOUND ? COUNT_DROP_NO_ROUTE
                                                             : COUNT_DROP_TARGET_GONE;
    if (!hub_id)
        drop_one(shard, counter, child->stub->connection_id, parcel->bytes);
    send_release(shard, parcel);
    if (!hub_id)
        return;
    struct exchange *exchange = exchange_of(shard, hub_id);
    struct text data;
    if (exchange) {
        exchange->error = (uint8_t)error;
        exchange->is_unsent = true;
    }
    text_init(&data);
    if (error != ERROR_METHOD_NOT_FOUND)
        reply_data_string(&data, "agent", child->settings->name, strlen(child->settings->name));
    if (limit)
        reply_data_number(&data, "limit", limit);
    child_reply_refuse(shard, child, hub_id, error, &data);
}
