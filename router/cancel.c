#include "router/cancel.h"

#include "core/memory.h"
#include "router/answer.h"
#include "router/drop.h"
#include "router/mail.h"
#include "router/refuse.h"
#include "router/send.h"

// --- At the source

// Once a request: a second cancel might find it taken out of the queue, and name to the target what it never
// saw.
static void dispatch(struct shard *shard, struct pending *pending, struct parcel *parcel, bool answer) {
    uint64_t target = pending->target;
    uint32_t to = connection_shard(target);
    asked_cancel(pending);
    parcel->hub_id = pending_hub_id(&shard->pending, pending);
    parcel->lane = LANE_URGENT;
    parcel->mail.kind = MAIL_CANCEL;
    parcel->mail.connection = target;
    parcel->mail.detail = answer;
    if (to == shard->index)
        cancel_arrived(shard, parcel);
    else
        mailbox_post(hub_mailbox(shard->hub, shard->index, to), &parcel->mail);
}

// The cancel with the hub's id for what it names, and without an id of its own: towards the target it is a
// notification, and there its source's id would be some request of the hub's. NULL without memory.
static struct parcel *translate(struct shard *shard, const struct message *message, struct span named,
                                uint64_t hub_id) {
    char digits[HUB_ID_DIGITS_MAX + 4];
    struct span values[2] = {named};
    struct piece texts[2] = {{digits, text_digits(digits, hub_id)}};
    unsigned count = 1;
    if (message_is_request(message)) {
        struct span own = lookup_id_member(&message->lookup, message->body);
        unsigned at = own.at < named.at ? 0 : 1;
        values[1 - at] = values[0];
        texts[1 - at] = texts[0];
        values[at] = own;
        texts[at] = (struct piece){"", 0};
        count++;
    }
    struct parcel *parcel = parcel_open(&shard->parcels, message->frame, values, count);
    if (parcel && !parcel_fill(parcel, texts)) {
        parcel_drop(parcel);
        parcel = NULL;
    }
    return parcel;
}

static void forward(struct shard *shard, const struct message *message, struct span named,
                    struct pending *pending) {
    struct parcel *parcel = translate(shard, message, named, pending_hub_id(&shard->pending, pending));
    if (!parcel) {
        drop_one(shard, COUNT_DROP_NO_MEMORY, pending->target, message->frame->body.bytes);
        return;
    }
    dispatch(shard, pending, parcel, true);
}

// MCP's key isn't among those that lookup guards: a second one could name another peer's request.
static bool find_request_id(const struct message *message, struct json_item *id) {
    struct json_walk walk;
    unsigned found = 0;
    json_walk_begin(&walk, message->body, message->lookup.value[KEY_PARAMS]);
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;) {
        if (!json_string_is(message->body, item.key, "requestId"))
            continue;
        *id = item;
        found++;
    }
    return found == 1;
}

static bool read_id(const struct message *message, struct json_item *id) {
    const struct lookup *lookup = &message->lookup;
    if (!lookup_has(lookup, KEY_PARAMS) || lookup->type[KEY_PARAMS] != JSON_OBJECT)
        return false;
    if (message->method[0] != '$')
        return find_request_id(message, id);
    id->value = lookup->value[KEY_PARAMS_ID];
    id->type = (enum json_type)lookup->type[KEY_PARAMS_ID];
    return lookup_has(lookup, KEY_PARAMS_ID);
}

void cancel_request(struct shard *shard, const struct message *message) {
    struct json_item id = {0};
    if (!read_id(message, &id) || (id.type != JSON_STRING && id.type != JSON_NUMBER)) {
        refuse_field(shard, message, message->method[0] == '$' ? "params.id" : "params.requestId",
                     "a string or a number, once");
        return;
    }
    struct pending *pending = asked_find(&message->peer->asked, message->body, id.value,
                                         &shard->hub->settings.secrets.tables, &shard->kept);
    if (pending)
        forward(shard, message, id.value, pending);
    if (message_is_request(message))
        reply_result(shard, message->peer, message_reply_to(message), "null", 4);
}

// One of the hub's own, or NULL.
static struct parcel *own_cancel(struct shard *shard, uint64_t hub_id) {
    struct text body, frame;
    text_init(&body);
    text_init(&frame);
    text_put(&body, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":");
    text_number(&body, (int64_t)hub_id);
    text_put(&body, "}}");
    reply_frame(&frame, &body);
    text_deinit(&body);
    struct parcel *parcel = frame.failed ? NULL : parcel_own(&shard->parcels, frame.bytes, frame.length);
    if (!parcel)
        text_deinit(&frame);
    return parcel;
}

void cancel_downstream(struct shard *shard, struct pending *pending) {
    if (pending->cancelled)
        return;
    struct parcel *parcel = own_cancel(shard, pending_hub_id(&shard->pending, pending));
    if (parcel)
        dispatch(shard, pending, parcel, false);
    else
        drop_one(shard, COUNT_DROP_NO_MEMORY, pending->target, 0);
}

void cancel_came_home(struct shard *shard, struct parcel *parcel) {
    struct pending *pending = pending_find(&shard->pending, parcel->hub_id);
    parcel_drop(parcel);
    if (!pending)
        return;
    stats_count(&shard->stats, COUNT_CANCELLED_IN_QUEUE);
    answer_error(shard, pending, ERROR_CANCELLED, NULL);
}

// --- At the target

static void send_home(struct shard *shard, struct parcel *parcel) {
    uint32_t to = parcel->pool->shard;
    parcel->mail.kind = MAIL_CANCELLED;
    if (to == shard->index)
        cancel_came_home(shard, parcel);
    else
        mailbox_post(hub_mailbox(shard->hub, shard->index, to), &parcel->mail);
}

// What passes a full queue isn't as long as its source likes: then the hub cancels in its own words. NULL
// without memory for them.
static struct parcel *shorten(struct shard *shard, struct parcel *parcel) {
    struct parcel *own = own_cancel(shard, parcel->hub_id);
    if (own)
        own->lane = LANE_URGENT;
    else
        drop_one(shard, COUNT_DROP_NO_MEMORY, parcel->mail.connection, parcel->bytes);
    send_release(shard, parcel);
    return own;
}

// A cancel passes a full queue, but a target that reads nothing could be told to cancel all that it owes, and
// all that it ever owed to those who left: where cancels alone are as much as a queue may hold, it is
// dropped. NULL when it was.
static struct parcel *fit(struct shard *shard, const struct peer *peer, struct parcel *parcel) {
    if (!send_has_room_for_urgent(shard, peer)) {
        drop_one(shard, COUNT_DROP_OVERLOADED, peer->name, parcel->bytes);
        send_release(shard, parcel);
        return NULL;
    }
    bool is_long = parcel->bytes > COPY_BYTES_MAX && !send_has_room(shard, peer);
    return is_long ? shorten(shard, parcel) : parcel;
}

void cancel_arrived(struct shard *shard, struct parcel *parcel) {
    struct peer *peer = peer_find(shard, parcel->mail.connection);
    if (!peer) { // what it owed ends with its leaving
        send_release(shard, parcel);
        return;
    }
    if (untaken_has(&shard->untaken, parcel->hub_id)) { // it is answered, and the target never saw it
        send_release(shard, parcel);
        return;
    }
    struct parcel *request = outbox_remove(&peer->connection.outbox, parcel->hub_id);
    if (request) {
        send_release(shard, request);
        if (parcel->mail.detail)
            send_home(shard, parcel);
        else
            send_release(shard, parcel);
        return;
    }
    parcel = fit(shard, peer, parcel);
    if (!parcel)
        return;
    parcel->hub_id = 0; // it is no request
    stats_count(&shard->stats, COUNT_CANCELS_FORWARDED);
    send_queue(shard, peer, parcel);
}
