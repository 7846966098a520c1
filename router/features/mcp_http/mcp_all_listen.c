#include "router/features/mcp_http/mcp_all_listen.h"

#include <assert.h>
#include <string.h>

#include "router/engine/send/send.h"
#include "router/features/mcp_http/mcp_all_answer.h"
#include "router/features/mcp_http/mcp_exchange.h"

static const char *const changes[] = {"toolsListChanged", "promptsListChanged", "resourcesListChanged"};
enum { CHANGES = sizeof changes / sizeof *changes, RESOURCES = 1 << CHANGES };

static void acknowledge(struct shard *shard, struct mcp_gather *gather) {
    struct span id = gather->message.lookup.value[KEY_ID];
    struct json_item asked = {0}, uris = {0};
    struct text body;
    const char *before = "";
    gather->is_acknowledged = true;
    text_init(&body);
    text_put(
        &body,
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{\"_meta\":{"
        "\"io.modelcontextprotocol/subscriptionId\":");
    text_add(&body, mcp_gather_body(gather) + id.at, id.bytes);
    text_put(&body, "},\"notifications\":{");
    for (size_t index = 0; index < CHANGES; index++) {
        if (!(gather->honoured >> index & 1))
            continue;
        text_put(&body, before);
        text_string(&body, changes[index], strlen(changes[index]));
        text_put(&body, ":true");
        before = ",";
    }
    asked = json_member(mcp_gather_body(gather), gather->message.lookup.value[KEY_PARAMS], "notifications");
    if (asked.type == JSON_OBJECT)
        uris = json_member(mcp_gather_body(gather), asked.value, "resourceSubscriptions");
    if ((gather->honoured & RESOURCES) && uris.type == JSON_ARRAY) {
        text_put(&body, before);
        text_put(&body, "\"resourceSubscriptions\":");
        text_add(&body, mcp_gather_body(gather) + uris.value.at, uris.value.bytes);
    }
    text_put(&body, "}}}");
    struct parcel *parcel = body.failed ? NULL : parcel_from_text(&shard->parcels, body.bytes, body.length);
    if (!parcel)
        text_deinit(&body);
    else if (gather->call->http)
        mcp_exchange_send(shard, gather->call->http, parcel, NULL, false);
    else
        send_release(shard, parcel);
}

// Sends the client its acknowledgement once each part was acknowledged or has ended. One part at least must be
// acknowledged.
static void acknowledge_all(struct shard *shard, struct mcp_gather *gather) {
    uint32_t ended = 0;
    assert(shard->index == 0);
    for (uint32_t index = 0; index < gather->count; index++)
        ended += !gather->parts[index].call;
    if (!gather->is_acknowledged && gather->acknowledged && gather->acknowledged + ended >= gather->count)
        acknowledge(shard, gather);
}

// Sends the client its acknowledgement though some servers haven't acknowledged. Later notifications of those servers
// are forwarded all the same.
static void acknowledge_late(struct shard *shard, struct mcp_gather *gather) {
    assert(gather->call->is_listen);
    if (!gather->is_acknowledged)
        acknowledge(shard, gather);
}

// Takes a server's acknowledgement, and notes the changes that the server honours for the client's acknowledgement.
// Returns false for another notification, or without memory.
static bool take_acknowledgement(struct shard *shard, struct mcp_gather *gather, struct parcel *parcel) {
    struct buffer *buffer = buffer_take_sized(&shard->buffers, (uint32_t)parcel->bytes);
    struct lookup lookup;
    struct json_item notice = {0}, uris = {0};
    if (!buffer)
        return false;
    parcel_copy(parcel, buffer->bytes);
    lookup_body(&lookup, buffer->bytes, (uint32_t)parcel->bytes, shard_limits(shard)->id_bytes_max);
    bool is_it =
        lookup.verdict == LOOKUP_GOOD && lookup.kind == BODY_NOTIFICATION &&
        json_string_is(buffer->bytes, lookup.value[KEY_METHOD], "notifications/subscriptions/acknowledged");
    if (is_it && lookup_has(&lookup, KEY_PARAMS))
        notice = json_member(buffer->bytes, lookup.value[KEY_PARAMS], "notifications");
    for (size_t index = 0; notice.type == JSON_OBJECT && index < CHANGES; index++)
        if (json_member(buffer->bytes, notice.value, changes[index]).type == JSON_TRUE)
            gather->honoured |= 1u << index;
    if (notice.type == JSON_OBJECT)
        uris = json_member(buffer->bytes, notice.value, "resourceSubscriptions");
    gather->honoured |= uris.type == JSON_ARRAY && uris.value.bytes > 2 ? RESOURCES : 0;
    buffer_drop(buffer);
    if (!is_it)
        return false;
    send_release(shard, parcel);
    gather->acknowledged++;
    acknowledge_all(shard, gather);
    return true;
}

static void listen_ended(struct shard *shard, struct mcp_gather *gather) {
    struct span id = gather->message.lookup.value[KEY_ID];
    struct text result;
    assert(gather->call->is_listen);
    if (!gather->is_acknowledged && !gather->is_cancelled) {
        mcp_all_answer_refuse(shard, gather, ERROR_METHOD_NOT_FOUND, "method", "subscriptions/listen",
                              strlen("subscriptions/listen"));
        return;
    }
    text_init(&result);
    text_put(&result, "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":");
    text_add(&result, mcp_gather_body(gather) + id.at, id.bytes);
    text_put(&result, "}");
    mcp_all_answer_result(shard, gather, &result);
}

void mcp_all_listen_begin(struct shard *shard, struct mcp_gather *gather) {
    gather->call->is_listen = true;
    gather->put = mcp_gather_put_same;
    gather->take_notification = take_acknowledgement;
    gather->late = acknowledge_late;
    gather->part_ended = acknowledge_all;
    gather->ended = listen_ended;
    mcp_gather_ask(shard, gather);
}

void mcp_all_listen_part(struct shard *shard, struct mcp_gather *gather) {
    assert(gather->call->is_listen);
    gather->ends_well = true;
    mcp_gather_cancel(shard, gather);
}
