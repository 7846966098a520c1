#include "router/features/mcp/mcp_request_ids.h"

#include <assert.h>
#include <string.h>

#include "core/mcp/mcp_message.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/probe.h"
#include "router/events/events.h"
#include "router/features/children/child_mux.h"
#include "router/features/mcp/child_reply.h"
#include "router/features/mcp/mcp_client_state.h"
#include "router/forwarding/forward.h"
#include "router/routing/route.h"

static struct child *first_of(const struct child *child) {
    return child->of ? child->of : child_of_stub(child->stub);
}

// --- Beginning and ending

// Notes a subscription, with the id that the source has given, unchanged. Returns false without memory, or if the id
// can't be read.
static bool begin_listening(struct shard *shard, struct mcp_users *users, struct mcp_user *user,
                            const struct parcel *parcel) {
    struct lookup lookup;
    assert(user && child_mux_method(parcel) == MCP_LISTEN);
    if (!parcel->buffer)
        return false;
    const uint8_t *body = parcel->buffer->bytes + parcel->body.at;
    lookup_body(&lookup, body, parcel->body.bytes, shard_limits(shard)->id_bytes_max);
    struct span id = lookup.value[KEY_ID];
    return lookup_has(&lookup, KEY_ID) &&
           mcp_listen_begin(users, user, parcel->hub_id, body + id.at, id.bytes);
}

uint32_t mcp_request_ids_listens_max(const struct shard *shard) {
    uint64_t share = shard_limits(shard)->pending_max / 4;
    return share > SUBSCRIPTIONS_PER_CONNECTION_MAX ? SUBSCRIPTIONS_PER_CONNECTION_MAX
           : share                                  ? (uint32_t)share
                                                    : 1;
}

bool mcp_request_ids_is_full(const struct shard *shard, const struct mcp_users *users,
                             const struct parcel *parcel) {
    if (!parcel->hub_id || !parcel->source || child_mux_method(parcel) != MCP_LISTEN)
        return false;
    const struct mcp_user *user = mcp_user_find(users, parcel->source);
    return user && user->listens >= mcp_request_ids_listens_max(shard);
}

static enum mcp_request_kind kind_of(const struct parcel *parcel) {
    return child_mux_method(parcel) == MCP_DISCOVER ? MCP_REQUEST_DISCOVER
           : child_mux_wants_log(parcel)            ? MCP_REQUEST_WITH_LOG
                                                    : MCP_REQUEST;
}

bool mcp_request_ids_begin(struct shard *shard, struct child *child, struct mcp_user *user,
                           const struct parcel *parcel) {
    struct mcp_users *users = mcp_users_of(child);
    assert(parcel->hub_id);
    bool is_begun = child_mux_method(parcel) == MCP_LISTEN
                        ? begin_listening(shard, users, user, parcel)
                        : mcp_request_begin(users, user, parcel->hub_id, kind_of(parcel));
    child->pending_count += is_begun && child->of;
    return is_begun;
}

bool mcp_request_ids_end(struct child *child, uint64_t hub_id) {
    bool ended = mcp_request_end(mcp_users_of(child), hub_id);
    assert(!ended || !child->of || child->pending_count > 0);
    child->pending_count -= ended && child->of;
    return ended;
}

void mcp_request_ids_refuse(struct shard *shard, struct child *child, uint64_t hub_id, enum error error,
                            bool removed) {
    bool waits = removed && outbox_has(&child->stub->connection.outbox, hub_id);
    assert(child->of && error != ERROR_NONE);
    mcp_request_ids_end(child, hub_id);
    if (error == ERROR_TARGET_DISCONNECTED)
        stats_count(&shard->stats, COUNT_TARGETS_LEFT);
    if (error == ERROR_METHOD_NOT_FOUND && !waits)
        child_reply_refuse_discover(shard, child->of, hub_id);
    else
        child_reply_refuse_named(shard, child->of, hub_id, waits ? ERROR_AGENT_NOT_FOUND : error);
}

void mcp_request_ids_drop_queue(struct shard *shard, const struct child *child) {
    for (struct parcel *parcel; (parcel = outbox_take(&child->stub->connection.outbox));) {
        if (!parcel->hub_id)
            drop_several(shard, COUNT_DROP_TARGET_GONE, child->stub->connection_id, parcel->bytes,
                         parcel->frames);
        send_release(shard, parcel);
    }
}

bool mcp_request_ids_abandon(struct shard *shard, struct child *child, uint64_t hub_id) {
    assert(hub_id && shard->index == 0);
    bool abandoned = mcp_request_abandon(mcp_server_state_users(child, mcp_of_stub(child->stub)), hub_id,
                                         shard_now_ms(shard));
    assert(!abandoned || !child->of || child->pending_count > 0);
    child->pending_count -= abandoned && child->of;
    return abandoned;
}

// --- Responses

uint64_t mcp_request_ids_answered(const struct message *message) {
    uint64_t hub_id = 0;
    const struct lookup *lookup = &message->lookup;
    bool is_number = lookup_has(lookup, KEY_ID) && lookup->type[KEY_ID] == JSON_NUMBER;
    return is_number && json_number_whole(message->body, lookup->value[KEY_ID], &hub_id) ? hub_id : 0;
}

void mcp_request_ids_send(struct shard *shard, const struct child *child, const struct frame *frame) {
    const struct child *first = first_of(child);
    assert(!first->of && shard->index == 0);
    struct frame own = *frame; // route_frame sets the user header of the copy, for the first child
    if (first->stub->state == PEER_OPEN)
        route_frame(shard, first->stub, &own, NULL);
}

// Sends a response that ends a subscription and names it, with the user's own id instead of the hub's. Returns false
// for another response.
static bool send_ended(struct shard *shard, const struct child *child, const struct message *message,
                       uint64_t hub_id) {
    size_t bytes;
    const char *own = mcp_listener(mcp_users_of(child), hub_id, &bytes);
    const struct lookup *lookup = &message->lookup;
    assert(message->peer == child->stub && hub_id);
    if (!own || lookup->verdict != LOOKUP_GOOD || lookup->kind != BODY_RESPONSE)
        return false;
    struct json_item item = mcp_result_subscription(message->body, lookup);
    if (mcp_id(message->body, &item) != hub_id)
        return false;
    struct text body;
    text_init(&body);
    mcp_put_restored(&body, message->body, message->frame->body.bytes, &item, own, bytes);
    child_reply_send(shard, first_of(child), &body);
    return true;
}

// Routes a response as one of the child that has the name, by the lookup that the message has already.
static void send_response(struct shard *shard, const struct child *child, const struct message *message) {
    const struct child *first = first_of(child);
    struct message response = *message;
    assert(message->lookup.kind == BODY_RESPONSE && shard->index == 0);
    if (first->stub->state != PEER_OPEN)
        return;
    PROBE(route, first->stub->connection_id, message->frame->body.bytes, message->lookup.kind);
    struct frame frame = route_set_user_header(shard, first->stub, message->frame);
    response.peer = first->stub;
    response.frame = &frame;
    events_flush(shard);
    responses_route(shard, &response);
}

void mcp_request_ids_answer(struct shard *shard, struct child *child, const struct message *message,
                            uint64_t hub_id) {
    const struct lookup *lookup = &message->lookup;
    bool is_sent = send_ended(shard, child, message, hub_id);
    if (lookup_has(lookup, KEY_ERROR) && !lookup_has(lookup, KEY_RESULT))
        mcp_client_state_refused(shard, child, hub_id);
    mcp_request_ids_end(child, hub_id);
    if (!is_sent && lookup->kind == BODY_RESPONSE)
        send_response(shard, child, message);
    else if (!is_sent)
        mcp_request_ids_send(shard, child, message->frame);
}

// --- Notifications

// Ends a subscription with an error, because its user gets answers alone and would miss the notification.
static void end_by_hub(struct shard *shard, struct child *child, uint64_t hub_id) {
    assert(mcp_request_user(mcp_users_of(child), hub_id)->answers_only);
    mcp_request_ids_end(child, hub_id);
    struct text data;
    const struct child *first = first_of(child);
    text_init(&data);
    reply_data_string(&data, "agent", first->settings->name, strlen(first->settings->name));
    child_reply_refuse(shard, first_of(child), hub_id, ERROR_CANCELLED, &data);
}

static bool notify_ended(struct shard *shard, struct child *child, const struct mcp_user *user,
                         const struct message *message) {
    const struct mcp_users *users = mcp_users_of(child);
    struct json_item item = {0};
    const struct lookup *lookup = &message->lookup;
    assert(!message_is_request(message) && shard->index == 0);
    if (lookup_has(lookup, KEY_PARAMS) && lookup->type[KEY_PARAMS] == JSON_OBJECT)
        item = json_member(message->body, lookup->value[KEY_PARAMS], "requestId");
    uint64_t hub_id = mcp_id(message->body, &item);
    const struct mcp_user *requester = hub_id ? mcp_request_user(users, hub_id) : NULL;
    if (!requester || (user && requester != user) || mcp_request_kind_of(users, hub_id) != MCP_REQUEST_LISTEN)
        return false; // the notification may be about a request of the server
    stats_count(&shard->stats, COUNT_NOTIFICATIONS_RECEIVED);
    if (requester->answers_only) {
        end_by_hub(shard, child, hub_id);
        return true;
    }
    mcp_request_ids_end(child, hub_id);
    if (first_of(child)->stub->state == PEER_OPEN)
        responses_end(shard, first_of(child)->stub, message->frame, item.value, hub_id, 0);
    return true;
}

static struct parcel *restored(struct shard *shard, const struct message *message,
                               const struct json_item *item, const char *own, size_t bytes) {
    bool quoted = item->type == JSON_STRING && *own != '"';
    assert(bytes > 0 && item->value.bytes > 2 * (uint32_t)quoted);
    struct span value = {item->value.at + quoted, item->value.bytes - 2 * (uint32_t)quoted};
    struct parcel *parcel = parcel_create_with_holes(&shard->parcels, message->frame, &value, 1);
    if (!parcel || parcel_fill(parcel, &(struct piece){own, bytes}))
        return parcel;
    parcel_drop(parcel);
    return NULL;
}

bool mcp_request_ids_notify(struct shard *shard, struct child *child, const struct mcp_user *user,
                            const struct message *message) {
    const struct mcp_users *users = mcp_users_of(child);
    size_t bytes = 0;
    assert(!message_is_request(message));
    if (mcp_method(message->method, message->method_bytes) == MCP_CANCELLED)
        return notify_ended(shard, child, user, message);
    struct json_item item = mcp_meta(message->body, &message->lookup, MCP_META_SUBSCRIPTION);
    if (item.type == JSON_NONE)
        return false;
    stats_count(&shard->stats, COUNT_NOTIFICATIONS_RECEIVED);
    uint64_t hub_id = mcp_id(message->body, &item);
    const char *own = hub_id ? mcp_listener(users, hub_id, &bytes) : NULL;
    const struct mcp_user *requester = own ? mcp_request_user(users, hub_id) : NULL;
    uint32_t size = message->frame->body.bytes;
    if (!requester || requester->answers_only || (user && requester != user)) {
        drop_one(shard, COUNT_DROP_NO_ROUTE, child->stub->connection_id, size);
        return true;
    }
    struct parcel *parcel = restored(shard, message, &item, own, bytes);
    if (!parcel) {
        drop_one(shard, COUNT_DROP_NO_MEMORY, requester->registrant.connection, size);
        return true;
    }
    parcel->lane = (uint8_t)message_lane(message);
    parcel->note = 1; // with `source`, tells mcp_stream.c the client's request
    parcel->source = hub_id;
    stats_count(&shard->stats, COUNT_NOTIFICATIONS_FORWARDED);
    forward_to(shard, requester->registrant.connection, parcel);
    return true;
}

void mcp_request_ids_note_change(const struct shard *shard, const struct child *child,
                                 const struct message *message) {
    static const char *const methods[] = {"notifications/tools/list_changed",
                                          "notifications/prompts/list_changed",
                                          "notifications/resources/list_changed"};
    bool is_change = false;
    assert(shard->index == 0 && !message_is_request(message));
    for (size_t index = 0; index < sizeof methods / sizeof *methods; index++)
        is_change |= message_method_is(message, methods[index]);
    const char *name = child->settings->name;
    struct child_record *record = is_change ? child_record_find(shard->hub, name, strlen(name)) : NULL;
    if (record)
        atomic_fetch_add_explicit(&record->list_changes, 1, memory_order_relaxed);
}
