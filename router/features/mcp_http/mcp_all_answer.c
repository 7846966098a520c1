#include "router/features/mcp_http/mcp_all_answer.h"

#include <assert.h>
#include <string.h>

#include "router/audit/audit.h"
#include "router/engine/send/reply.h"
#include "router/features/mcp_http/mcp_call.h"
#include "router/features/mcp_http/mcp_stream.h"
#include "router/features/mcp_http/mcp_table.h"

void mcp_all_answer_put_id(const struct mcp_gather *gather, struct text *out) {
    struct span id = gather->message.lookup.value[KEY_ID];
    text_put(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    text_add(out, mcp_gather_body(gather) + id.at, id.bytes);
}

void mcp_all_answer_end(struct shard *shard, struct mcp_gather *gather) {
    assert(shard->index == 0);
    struct mcp_call *call = gather->call;
    struct mcp_client *client = call->client;
    mcp_gather_free(shard, gather);
    mcp_call_settle(shard, call);
    mcp_call_free(shard, call);
    if (client->kind == MCP_CLIENT_REQUEST && list_empty(&client->calls))
        mcp_table_close(shard, client);
}

// Answers with a body, which is taken, and ends the gather. A call that its client has cancelled gets no answer.
static void give(struct shard *shard, struct mcp_gather *gather, struct text *body, unsigned status) {
    struct mcp_call *call = gather->call;
    assert(gather->open == 0 && call->gather == gather);
    struct parcel *parcel = NULL;
    if ((!gather->is_cancelled || gather->ends_well) && !body->failed)
        parcel = parcel_from_text(&shard->parcels, body->bytes, body->length);
    gather->is_answered = parcel && !gather->error;
    if (parcel)
        mcp_stream_answer(shard, call, parcel, status,
                          call->is_initialize && !gather->error ? mcp_table_line(call->client) : NULL);
    else
        mcp_stream_end(shard, call);
    if (!parcel)
        text_deinit(body);
    mcp_all_answer_end(shard, gather);
}

void mcp_all_answer_result(struct shard *shard, struct mcp_gather *gather, struct text *result) {
    assert(shard->index == 0);
    struct text body;
    text_init(&body);
    mcp_all_answer_put_id(gather, &body);
    text_put(&body, ",\"result\":{");
    if (result->length)
        text_add(&body, result->bytes, result->length);
    body.failed |= result->failed;
    if (gather->call->is_modern)
        text_put(&body, result->length ? ",\"resultType\":\"complete\"" : "\"resultType\":\"complete\"");
    text_put(&body, "}}");
    text_deinit(result);
    stats_count(&shard->stats, COUNT_ANSWERED_BY_HUB);
    give(shard, gather, &body, 200);
}

void mcp_all_answer_error(struct shard *shard, struct mcp_gather *gather, enum error error,
                          struct text *data) {
    assert(shard->index == 0);
    struct text body;
    if (!gather->is_cancelled)
        gather->error = error;
    text_init(&body);
    mcp_all_answer_put_id(gather, &body);
    text_put(&body, ",\"error\":{\"code\":");
    text_number(&body, error_code_mcp(error));
    text_put(&body, ",\"message\":\"");
    text_put(&body, error_text(error));
    text_put(&body, "\",\"data\":{");
    if (data->length)
        text_add(&body, data->bytes, data->length);
    text_put(&body, "}}}");
    text_deinit(data);
    stats_count(&shard->stats, COUNT_ERRORS_BY_HUB);
    give(shard, gather, &body, gather->call->is_modern && error == ERROR_METHOD_NOT_FOUND ? 404 : 200);
}

void mcp_all_answer_refuse(struct shard *shard, struct mcp_gather *gather, enum error error, const char *key,
                           const char *text, size_t bytes) {
    assert(shard->index == 0);
    struct text data;
    text_init(&data);
    text_string(&data, key, strlen(key));
    text_put(&data, ":");
    text_string(&data, text, bytes);
    mcp_all_answer_error(shard, gather, error, &data);
}

void mcp_all_answer_refuse_right(struct shard *shard, struct mcp_gather *gather, enum rule rule) {
    const struct mcp_client *client = gather->call->client;
    const struct message *message = &gather->message;
    struct unrouted_request request = {.source = client->seat->connection_id,
                                       .user = client->user,
                                       .method = message->method,
                                       .method_bytes = message->method_bytes};
    struct text data;
    assert(shard->settings->users && rule < RULES_COUNT);
    text_init(&data);
    reply_data_text(&data, "rule", rule_text(rule));
    stats_count(&shard->stats, (enum counter)(COUNT_REFUSED_REGISTER + rule));
    audit_refused_unrouted(shard, &request, ERROR_NOT_ALLOWED, &data);
    text_deinit(&data);
    mcp_all_answer_refuse(shard, gather, ERROR_NOT_ALLOWED, "rule", rule_text(rule), strlen(rule_text(rule)));
}

void mcp_all_answer_revoke(struct shard *shard, struct mcp_gather *gather) {
    assert(gather->call->gather == gather);
    mcp_gather_cancel_questions(shard, gather);
    mcp_all_answer_refuse_right(shard, gather, RULE_CREDENTIAL);
}

void mcp_all_cancel_and_answer(struct shard *shard, struct mcp_gather *gather) {
    struct text data;
    assert(gather->call->gather == gather);
    text_init(&data);
    mcp_gather_cancel_questions(shard, gather);
    mcp_all_answer_error(shard, gather, ERROR_CANCELLED, &data);
}
