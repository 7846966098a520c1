#include "router/reply.h"

#include <string.h>

#include "core/memory.h"
#include "router/send.h"

// --- Error data

static void key(struct text *data, const char *name) {
    text_put(data, data->length ? "," : "{");
    text_string(data, name, strlen(name));
    text_put(data, ":");
}

void reply_data_string(struct text *data, const char *name, const void *value, size_t bytes) {
    key(data, name);
    text_string(data, value, bytes);
}

void reply_data_text(struct text *data, const char *name, const char *value) {
    reply_data_string(data, name, value, strlen(value));
}

void reply_data_number(struct text *data, const char *name, int64_t value) {
    key(data, name);
    text_number(data, value);
}

// --- Frames

void reply_frame(struct text *frame, const struct text *body) {
    text_put(frame, "Content-Length: ");
    text_number(frame, (int64_t)body->length);
    text_put(frame, "\r\n\r\n");
    text_add(frame, body->bytes, body->length);
    frame->failed |= body->failed;
}

// Puts the header block before a body and queues the frame; takes the body over.
static void queue_body(struct shard *shard, struct peer *peer, struct text *body) {
    struct text frame;
    text_init(&frame);
    reply_frame(&frame, body);
    text_deinit(body);
    struct parcel *parcel = frame.failed ? NULL : parcel_own(&shard->parcels, frame.bytes, frame.length);
    if (parcel) {
        send_queue_owed(shard, peer, parcel);
        return;
    }
    text_deinit(&frame);
    stats_count(&shard->stats, COUNT_DROP_NO_MEMORY);
    peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
}

static void begin(struct text *body, struct reply_id id) {
    text_init(body);
    text_put(body, "{\"jsonrpc\":\"2.0\",\"id\":");
    if (id.count)
        text_add(body, id.bytes, id.count);
    else
        text_put(body, "null");
}

void reply_result(struct shard *shard, struct peer *peer, struct reply_id id, const void *result,
                  size_t bytes) {
    struct text body;
    begin(&body, id);
    text_put(&body, ",\"result\":");
    text_add(&body, result, bytes);
    text_put(&body, "}");
    stats_count(&shard->stats, COUNT_ANSWERED_BY_HUB);
    queue_body(shard, peer, &body);
}

void reply_error(struct shard *shard, struct peer *peer, struct reply_id id, enum error error,
                 struct text *data) {
    struct text body;
    begin(&body, id);
    text_put(&body, ",\"error\":{\"code\":");
    text_number(&body, error_code(error));
    text_put(&body, ",\"message\":\"");
    text_put(&body, error_text(error));
    text_put(&body, "\",\"data\":");
    if (data && data->length) {
        text_add(&body, data->bytes, data->length);
        body.failed |= data->failed;
    } else {
        text_put(&body, "{");
    }
    text_put(&body, "}}}");
    if (data)
        text_deinit(data);
    stats_count(&shard->stats, COUNT_ERRORS_BY_HUB);
    queue_body(shard, peer, &body);
}

// --- Orders

static void order_result(struct shard *shard, struct peer *peer, const struct order *order,
                         struct reply_id id) {
    struct text result;
    text_init(&result);
    if (order->kind == ORDER_RESIGN) {
        text_put(&result, "null");
    } else {
        text_put(&result, "{\"agentId\":");
        text_string(&result, order->agent_id, order->agent_id_bytes);
        text_put(&result, ",\"registered\":");
        text_put(&result, order->kind == ORDER_REGISTER ? "true}" : "false}");
    }
    if (result.failed)
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
    else
        reply_result(shard, peer, id, result.bytes, result.length);
    text_deinit(&result);
}

void reply_order(struct shard *shard, const struct order *order) {
    struct peer *peer = peer_find(shard, order->mail.connection);
    if (!peer || !order->request_id)
        return;
    struct reply_id id = {order->request_id, order->request_id_bytes};
    if (!order->error) {
        order_result(shard, peer, order, id);
        return;
    }
    struct text data;
    text_init(&data);
    reply_data_string(&data, "agent", order->agent_id, order->agent_id_bytes);
    if (order->error == ERROR_OVERLOADED)
        reply_data_number(&data, "limit", AGENTS_PER_CONNECTION_MAX);
    reply_error(shard, peer, id, order->error, &data);
}

void reply_replaced(struct shard *shard, struct peer *peer, const char *agent_id, size_t bytes) {
    struct text body;
    text_init(&body);
    text_put(&body, "{\"jsonrpc\":\"2.0\",\"method\":\"hub/replaced\",\"params\":{\"agentId\":");
    text_string(&body, agent_id, bytes);
    text_put(&body, "}}");
    queue_body(shard, peer, &body);
}
