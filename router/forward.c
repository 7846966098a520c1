#include "router/forward.h"

#include "router/mail.h"
#include "router/refuse.h"
#include "router/send.h"

enum parcel_lane forward_lane(const struct message *message) {
    if (!lookup_has(&message->lookup, KEY_PRIORITY) || message->lookup.type[KEY_PRIORITY] != JSON_STRING)
        return LANE_NORMAL;
    struct span priority = message->lookup.value[KEY_PRIORITY];
    bool high = json_string_is(message->body, priority, "high") ||
                json_string_is(message->body, priority, "critical");
    return high ? LANE_HIGH : LANE_NORMAL;
}

// One that has gone may still be in the registry: its leaving goes round.
enum error forward_fault(struct shard *shard, const struct message *message, uint64_t target) {
    uint32_t to = connection_shard(target);
    if (message_is_request(message) && hub_owed(shard->hub, target) >= shard_limits(shard)->pending_max)
        return ERROR_OVERLOADED;
    if (to != shard->index)
        return mailbox_crowded(hub_mailbox(shard->hub, shard->index, to)) ? ERROR_OVERLOADED : ERROR_NONE;
    struct peer *peer = peer_find(shard, target);
    if (!peer)
        return ERROR_TARGET_DISCONNECTED;
    return send_has_room(shard, peer) ? ERROR_NONE : ERROR_OVERLOADED;
}

static void deliver(struct shard *shard, uint64_t target, struct parcel *parcel) {
    uint32_t to = connection_shard(target);
    if (to == shard->index) {
        send_queue(shard, peer_find(shard, target), parcel);
        return;
    }
    parcel->mail.kind = MAIL_DELIVER;
    parcel->mail.connection = target;
    mailbox_post(hub_mailbox(shard->hub, shard->index, to), &parcel->mail);
}

void forward_notification(struct shard *shard, const struct message *message, struct agent *agent) {
    struct parcel *parcel = parcel_forward(&shard->parcels, message->frame);
    if (!parcel) {
        stats_count(&shard->stats, COUNT_DROP_NO_MEMORY);
        return;
    }
    parcel->lane = (uint8_t)forward_lane(message);
    stats_count(&shard->stats, COUNT_NOTIFICATIONS_FORWARDED);
    deliver(shard, agent->home->connection, parcel);
}

static uint32_t timeout_ms(const struct shard *shard, const struct message *message) {
    const struct frame_scan *header = message->frame->header;
    return header->timeout_given ? header->timeout_ms
                                 : (uint32_t)(shard_limits(shard)->request_timeout_ns / 1000000);
}

// The source's id becomes one of the hub's own in the parcel.
static struct parcel *parcel_with_hub_id(struct shard *shard, const struct message *message,
                                         uint64_t hub_id) {
    char digits[HUB_ID_DIGITS_MAX + 4];
    size_t count = text_digits(digits, hub_id);
    struct parcel *parcel = parcel_open(&shard->parcels, message->frame, &message->lookup.value[KEY_ID], 1);
    if (parcel && !parcel_fill(parcel, &(struct piece){digits, count})) {
        parcel_drop(parcel);
        parcel = NULL;
    }
    return parcel;
}

static void bind(struct shard *shard, struct pending *pending, const struct message *message,
                 struct home *home) {
    pending->source = message->peer->name;
    pending->batch = message->batch;
    pending->target = home->connection;
    pending->timeout_ms = timeout_ms(shard, message);
    pending->timer.kind = TIMER_PENDING;
    list_append(&message->peer->asked, &pending->by_source);
    list_append(&home->pending, &pending->by_target);
    wheel_arm(&shard->wheel, &pending->timer, shard_now_ms(shard) + pending->timeout_ms);
    hub_owe(shard->hub, home->connection, 1);
}

void forward_request(struct shard *shard, const struct message *message, struct agent *agent) {
    struct reply_to to = message_reply_to(message);
    struct pending *pending = pending_add(&shard->pending, to.id, to.id_bytes);
    uint64_t hub_id = pending ? pending_hub_id(&shard->pending, pending) : 0;
    struct parcel *parcel = pending ? parcel_with_hub_id(shard, message, hub_id) : NULL;
    if (!parcel) {
        if (pending)
            pending_end(&shard->pending, pending);
        refuse_at(shard, message, agent, ERROR_OVERLOADED);
        return;
    }
    bind(shard, pending, message, agent->home);
    parcel->hub_id = hub_id;
    parcel->lane = (uint8_t)forward_lane(message);
    stats_count(&shard->stats, COUNT_REQUESTS_FORWARDED);
    deliver(shard, agent->home->connection, parcel);
}
