#include "router/features/mcp_http/mcp_reply.h"

#include <assert.h>
#include <string.h>

#include "router/engine/shard/feature_call.h"
#include "router/features/mcp_http/mcp_post_types.h"
#include "router/features/mcp_http/mcp_table.h"

// Answers with a body, which is taken.
static void answer(struct shard *shard, struct mcp_exchange *exchange, unsigned status, char *lines,
                   struct text *body) {
    assert(shard->index == 0);
    struct parcel *parcel =
        body->failed ? NULL : parcel_from_text(&shard->parcels, body->bytes, body->length);
    if (!parcel) {
        text_deinit(body);
        status = 503;
    }
    mcp_exchange_answer(shard, exchange, status, NULL, lines, parcel);
}

static void put_error(struct text *body, struct reply_to to, int code, const char *message,
                      const struct text *data) {
    text_init(body);
    text_put(body, "{\"jsonrpc\":\"2.0\",\"id\":");
    if (to.id_bytes)
        text_add(body, to.id, to.id_bytes);
    else
        text_put(body, "null");
    text_put(body, ",\"error\":{\"code\":");
    text_number(body, code);
    text_put(body, ",\"message\":");
    text_string(body, message, strlen(message));
    text_put(body, ",\"data\":");
    if (data && data->length)
        text_add(body, data->bytes, data->length);
    else
        text_put(body, "{");
    body->failed |= data && data->failed;
    text_put(body, "}}}");
}

// Returns a copy of a message that has this source, and is attached to no target.
static struct message unrouted_of(const struct message *message, const struct unrouted_source *source) {
    assert(message->lookup.verdict == LOOKUP_GOOD && source->connection);
    struct message unrouted = *message;
    unrouted.peer = NULL;
    unrouted.unrouted = source;
    message_defer(&unrouted, NULL);
    return unrouted;
}

void mcp_reply_note(struct shard *shard, const struct message *message, const struct unrouted_source *source,
                    enum error error) {
    struct message unrouted = unrouted_of(message, source);
    feature_message_refused(shard, &unrouted, error);
}

void mcp_reply_note_answer(struct shard *shard, const struct message *message,
                           const struct unrouted_source *source) {
    struct message unrouted = unrouted_of(message, source);
    feature_request_answered(shard, &unrouted, NULL);
}

static struct unrouted_source source_of(const struct mcp_post *post, int code) {
    const struct mcp_exchange *exchange = post->exchange;
    return (struct unrouted_source){.connection = exchange->connection,
                                    .user = exchange->user,
                                    .target = post->server,
                                    .target_bytes = post->server_bytes,
                                    .arrived_ms = exchange->sent_ms,
                                    .code = code};
}

static void note_post(struct shard *shard, const struct mcp_post *post, enum error error, int code) {
    const struct message *message = &post->message;
    struct unrouted_source source = source_of(post, code);
    if (message_is_request(message) && (message->method_long || message->method_bytes))
        mcp_reply_note(shard, message, &source, error);
}

void mcp_reply_note_post_answer(struct shard *shard, const struct mcp_post *post) {
    struct unrouted_source source = source_of(post, 0);
    assert(message_is_request(&post->message) && post->message.method_bytes > 0);
    mcp_reply_note_answer(shard, &post->message, &source);
}

void mcp_reply_note_post_left(struct shard *shard, const struct mcp_post *post) {
    note_post(shard, post, ERROR_NONE, 0);
}

static void refuse(struct shard *shard, const struct mcp_post *post, unsigned status, enum error error,
                   int code, const char *message, char *lines, struct text *data) {
    struct text body;
    assert(status >= 400 && code < 0);
    note_post(shard, post, error, code);
    put_error(&body, post->to, code, message, data);
    if (data)
        text_deinit(data);
    stats_count(&shard->stats, COUNT_ERRORS_BY_HUB);
    answer(shard, post->exchange, status, lines, &body);
}

void mcp_reply_error(struct shard *shard, const struct mcp_post *post, unsigned status, enum error error,
                     struct text *data) {
    refuse(shard, post, status, error, error_code_mcp(error), error_text(error), NULL, data);
}

void mcp_reply_later(struct shard *shard, const struct mcp_post *post, unsigned status, uint64_t ms,
                     struct text *data) {
    assert(shard->index == 0);
    struct text lines;
    text_init(&lines);
    text_put(&lines, "Retry-After: ");
    text_number(&lines, (int64_t)(ms + 999) / 1000);
    text_add(&lines, "\r\n", sizeof "\r\n");
    if (lines.failed)
        text_deinit(&lines);
    refuse(shard, post, status, ERROR_OVERLOADED, error_code_mcp(ERROR_OVERLOADED),
           error_text(ERROR_OVERLOADED), lines.failed ? NULL : lines.bytes, data);
}

void mcp_reply_code(struct shard *shard, const struct mcp_post *post, int code, const char *text,
                    struct text *data) {
    refuse(shard, post, 400, ERROR_INVALID_REQUEST, code, text, NULL, data);
}

void mcp_reply_result(struct shard *shard, struct mcp_exchange *exchange, struct reply_to to,
                      const char *result, size_t bytes) {
    struct text body;
    assert(to.id_bytes > 0 && bytes > 0);
    text_init(&body);
    text_put(&body, "{\"jsonrpc\":\"2.0\",\"id\":");
    text_add(&body, to.id, to.id_bytes);
    text_put(&body, ",\"result\":");
    text_add(&body, result, bytes);
    text_put(&body, "}");
    stats_count(&shard->stats, COUNT_ANSWERED_BY_HUB);
    answer(shard, exchange, 200, NULL, &body);
}

void mcp_reply_status(struct shard *shard, struct mcp_exchange *exchange, unsigned status,
                      const char *fields) {
    mcp_exchange_answer(shard, exchange, status, fields, NULL, NULL);
}
