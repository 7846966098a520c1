#include "router/engine/send/reply.h"

#include <assert.h>
#include <string.h>

#include "core/base/memory.h"
#include "router/engine/send/exchange.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"

// --- Error data

static void key(struct text *data, const char *name) {
    assert(data->failed || data->length == 0 || data->bytes[0] == '{'); // an object without its end
    text_put(data, data->length ? "," : "{");
    text_string(data, name, strlen(name));
    text_put(data, ":");
}

void reply_data_string(struct text *data, const char *name, const void *value, size_t bytes) {
    assert(value || bytes == 0);
    key(data, name);
    text_string(data, value, bytes);
}

void reply_data_text(struct text *data, const char *name, const char *value) {
    assert(value);
    reply_data_string(data, name, value, strlen(value));
}

void reply_data_flag(struct text *data, const char *name) {
    key(data, name);
    text_put(data, "true");
}

void reply_data_number(struct text *data, const char *name, int64_t value) {
    key(data, name);
    text_number(data, value);
}

// --- Bodies

static struct parcel *parcel_of_text(struct shard *shard, struct text *text) {
    assert(text->failed || (text->bytes[0] == '{' && text->bytes[text->length - 1] == '}'));
    struct parcel *parcel =
        text->failed ? NULL : parcel_from_text(&shard->parcels, text->bytes, text->length);
    if (!parcel)
        text_deinit(text);
    return parcel;
}

// Queues a body, which is taken over. False when memory is used up.
static bool queue_body(struct shard *shard, struct peer *peer, struct text *body) {
    struct parcel *parcel = parcel_of_text(shard, body);
    if (parcel)
        send_queue_required(shard, peer, parcel);
    return parcel != NULL;
}

static void close_without_memory(struct shard *shard, struct peer *peer) {
    drop_one(shard, COUNT_DROP_NO_MEMORY, peer->connection_id, 0);
    peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
}

void reply_failed(struct shard *shard, struct peer *peer, struct reply_to to) {
    close_without_memory(shard, peer);
    if (to.exchange)
        exchange_miss(shard, to.exchange);
}

void reply_missed(struct shard *shard, uint64_t connection, struct reply_to to) {
    assert(!peer_find(shard, connection));
    drop_one(shard, COUNT_DROP_ANSWER_SOURCE_GONE, connection, 0);
    if (to.exchange)
        exchange_miss(shard, to.exchange);
}

static void reply_answer(struct shard *shard, struct peer *peer, struct reply_to to, struct text *body,
                         bool is_error) {
    if (!to.exchange) {
        if (!queue_body(shard, peer, body))
            close_without_memory(shard, peer);
        return;
    }
    struct parcel *parcel = parcel_of_text(shard, body);
    if (parcel)
        parcel->mail.detail = is_error; // as of a target's response
    if (parcel)
        exchange_answer(shard, to.exchange, parcel);
    else
        reply_failed(shard, peer, to);
}

static const char opening[] = "{\"jsonrpc\":\"2.0\",\"id\":", result_member[] = ",\"result\":";

// The body's, around a result of so many bytes.
static size_t result_body_bytes(struct reply_to to, size_t bytes) {
    assert(bytes > 0);
    size_t id_bytes = to.id_bytes ? to.id_bytes : sizeof "null" - 1;
    return sizeof opening - 1 + id_bytes + sizeof result_member - 1 + bytes + sizeof "}" - 1;
}

static void begin_answer(struct text *body, struct reply_to to) {
    assert(to.id || to.id_bytes == 0);
    text_init(body);
    text_put(body, opening);
    if (to.id_bytes)
        text_add(body, to.id, to.id_bytes);
    else
        text_put(body, "null");
}

void reply_too_large(struct shard *shard, struct peer *peer, struct reply_to to) {
    struct text data;
    text_init(&data);
    reply_data_number(&data, "limit", shard_limits(shard)->frame_bytes_max);
    reply_error(shard, peer, to, ERROR_FRAME_TOO_LARGE, &data);
}

void reply_without_memory(struct shard *shard, struct peer *peer, struct reply_to to) {
    struct text data;
    text_init(&data);
    reply_data_text(&data, "fault", "there is no memory for the result");
    reply_error(shard, peer, to, ERROR_OVERLOADED, &data);
}

// Body and frame are there at a time. A small result is answered as long as an error could be.
bool reply_has_memory(struct shard *shard, struct peer *peer, struct reply_to to, size_t bytes) {
    if (bytes <= COPY_BYTES_MAX || buffer_budget_has_room(&shard->hub->budget, 2 * bytes, BUDGET_MESSAGE))
        return true;
    reply_without_memory(shard, peer, to);
    return false;
}

void reply_result(struct shard *shard, struct peer *peer, struct reply_to to, const void *result,
                  size_t bytes) {
    assert(connection_shard(peer->connection_id) == shard->index);
    if (to.exchange && !exchange_has_room(shard, to.exchange, result_body_bytes(to, bytes))) {
        reply_too_large(shard, peer, to);
        return;
    }
    if (!reply_has_memory(shard, peer, to, bytes))
        return;
    struct text body;
    begin_answer(&body, to);
    text_reserve(&body, result_body_bytes(to, bytes) - body.length);
    text_put(&body, result_member);
    text_add(&body, result, bytes);
    text_put(&body, "}");
    assert(body.failed || body.length == result_body_bytes(to, bytes));
    stats_count(&shard->stats, COUNT_ANSWERED_BY_HUB);
    reply_answer(shard, peer, to, &body, false);
}

struct span reply_put_error(struct text *body, struct reply_to to, enum error error,
                            const struct text *data) {
    assert(error > ERROR_NONE && error < ERRORS_COUNT);
    begin_answer(body, to);
    struct span id = {sizeof opening - 1, (uint32_t)(body->length - (sizeof opening - 1))};
    text_put(body, ",\"error\":{\"code\":");
    text_number(body, to.exchange && to.exchange->is_mcp ? error_code_mcp(error) : error_code(error));
    text_put(body, ",\"message\":\"");
    text_put(body, error_text(error));
    text_put(body, "\",\"data\":");
    if (data && data->length)
        text_add(body, data->bytes, data->length);
    else
        text_put(body, "{");
    body->failed |= data && data->failed;
    text_put(body, "}}}");
    return id;
}

void reply_error(struct shard *shard, struct peer *peer, struct reply_to to, enum error error,
                 struct text *data) {
    struct text body;
    assert(connection_shard(peer->connection_id) == shard->index);
    reply_put_error(&body, to, error, data);
    if (data)
        text_deinit(data);
    stats_count(&shard->stats, COUNT_ERRORS_BY_HUB);
    if (to.exchange)
        to.exchange->error = (uint8_t)error;
    if (to.exchange && !to.exchange->is_array)
        to.exchange->is_bad = error == ERROR_PARSE || error == ERROR_INVALID_REQUEST;
    reply_answer(shard, peer, to, &body, true);
}

void reply_notify(struct shard *shard, struct peer *peer, struct text *body) {
    if (!queue_body(shard, peer, body))
        close_without_memory(shard, peer);
}
