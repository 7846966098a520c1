#include "router/methods/cancel_request.h"

#include <assert.h>

#include "router/engine/request/cancel.h"
#include "router/engine/request/completion.h"
#include "router/engine/request/refuse.h"
#include "router/engine/request/validate.h"
#include "router/engine/send/exchange.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/feature_call.h"
#include "router/engine/shard/identity.h"

// Returns the cancel with the hub's id for the request's, and without an id of its own. Towards the target a
// cancel is a notification, and there its source's id would be some request of the hub's. NULL without
// memory.
static struct parcel *translate(struct shard *shard, const struct message *message, struct span named,
                                uint64_t hub_id) {
    char digits[HUB_ID_DIGITS_MAX + 4];
    struct span values[2] = {named};
    struct piece texts[2] = {{digits, text_digits(digits, hub_id)}};
    unsigned count = 1;
    assert(named.bytes > 0 && named.at + named.bytes <= message->frame->body.bytes);
    if (message_is_request(message)) {
        struct span request_id = lookup_id_member(&message->lookup, message->body);
        unsigned at = request_id.at < named.at ? 0 : 1;
        values[1 - at] = values[0];
        texts[1 - at] = texts[0];
        values[at] = request_id;
        texts[at] = (struct piece){"", 0};
        count++;
    }
    struct parcel *parcel = parcel_create_with_holes(&shard->parcels, message->frame, values, count);
    if (parcel && !parcel_fill(parcel, texts)) {
        parcel_drop(parcel);
        parcel = NULL;
    }
    return parcel;
}

static void forward(struct shard *shard, const struct message *message, struct span named,
                    struct pending *pending) {
    assert(pending->used && !pending->cancelled && pending->source == message->peer->connection_id);
    bool is_end = cancel_is_end(shard, pending);
    if (is_end && message->method[0] == '$') { // told in the words that the target knows
        completion_give_up(shard, pending, true);
        return;
    }
    struct parcel *parcel = translate(shard, message, named, pending_hub_id(&shard->pending, pending));
    if (!parcel) {
        drop_one(shard, COUNT_DROP_NO_MEMORY, pending->target, message->frame->body.bytes);
        return;
    }
    if (cancel_send(shard, pending, parcel, !is_end))
        completion_cancelled(shard, pending);
    else if (is_end)
        completion_give_up(shard, pending, message->origin != NULL); // another hub waits for an answer
}

// Returns whether the cancel names the request by requestId (MCP, Agent Client Protocol), and not by id (LSP).
static bool names_request_id(const struct message *message) {
    assert(message->method_bytes > 0);
    return !message_method_is(message, "$/cancelRequest");
}

static bool read_id(const struct message *message, struct json_item *id) {
    const struct lookup *lookup = &message->lookup;
    if (!lookup_has(lookup, KEY_PARAMS) || lookup->type[KEY_PARAMS] != JSON_OBJECT)
        return false;
    enum lookup_key key = names_request_id(message) ? KEY_REQUEST_ID : KEY_PARAMS_ID;
    id->value = lookup->value[key];
    id->type = (enum json_type)lookup->type[key];
    return lookup_has(lookup, key);
}

// Returns when the request was forwarded, by the shard's clock.
static uint64_t began_ms(const struct pending *pending) {
    return pending->asked_ns / 1000000;
}

// Returns whether the request is of the peer's present user. An HTTP connection may have requests of several users.
static bool is_own(const struct peer *peer, const struct pending *pending) {
    const struct user *user = identity_user(peer);
    assert(pending->source == peer->connection_id);
    return pending->account == (user ? user->account : NULL);
}

void cancel_request_route(struct shard *shard, const struct message *message) {
    struct json_item id = {0};
    assert(message->method_bytes > 0);
    if (!read_id(message, &id) || (id.type != JSON_STRING && id.type != JSON_NUMBER)) {
        refuse_field(shard, message, names_request_id(message) ? "params.requestId" : "params.id",
                     "a string or a number, once");
        return;
    }
    struct pending *pending = request_index_find(&message->peer->request_index, message->body, id.value,
                                                 &shard->hub->start_settings.secrets.tables, &shard->quota);
    if (pending && shard->settings->users && !is_own(message->peer, pending))
        pending = NULL;
    bool is_done = feature_cancel_request(shard, message->peer, message->body, id.value,
                                          pending ? began_ms(pending) : 0);
    if (!is_done && pending)
        forward(shard, message, id.value, pending);
    if (message_is_request(message))
        reply_result(shard, message->peer, message_reply_to(message), "null", 4);
}

static bool is_cancel(const struct message *message) {
    return message_method_is(message, "$/cancelRequest") || message_method_is(message, "$/cancel_request") ||
           message_method_is(message, "notifications/cancelled");
}

bool cancel_request_number(struct message *message, uint64_t *number) {
    struct json_item id = {0};
    validate_read_method(message);
    return is_cancel(message) && read_id(message, &id) && id.type == JSON_NUMBER &&
           json_number_whole(message->body, id.value, number);
}

bool cancel_request_remote(struct shard *shard, const struct message *message, struct pending *pending) {
    struct json_item id = {0};
    assert(!message_is_request(message));
    if (!is_cancel(message) || !read_id(message, &id))
        return false;
    forward(shard, message, id.value, pending);
    return true;
}
