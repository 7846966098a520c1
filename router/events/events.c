#include "router/events/events.h"

#include <assert.h>
#include <string.h>

#include "core/agents/topics.h"
#include "core/base/memory.h"
#include "router/engine/request/refuse.h"
#include "router/engine/send/exchange.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/feature_call.h"
#include "router/engine/shard/post.h"
#include "router/events/event_fanout.h"
#include "router/forwarding/remote_route.h"
#include "router/registry/presence.h"
#include "router/rights/authz.h"

// --- The source's shard

// Makes the parcel of an event. A request becomes a notification: its id is left out. Returns NULL without memory.
static struct parcel *parcel_of_event(struct shard *shard, const struct message *message) {
    struct parcel *parcel;
    if (message_is_request(message)) {
        struct span id = lookup_id_member(&message->lookup, message->body);
        parcel = parcel_create_with_holes(&shard->parcels, message->frame, &id, 1);
        if (parcel)
            parcel_fill(parcel, &(struct piece){"", 0}); // no text, no memory
    } else {
        parcel = parcel_forward(&shard->parcels, message->frame);
    }
    if (parcel)
        parcel->lane = (uint8_t)message_lane(message);
    return parcel;
}

static bool events_read_name(struct shard *shard, const struct message *message, char name[EVENT_BYTES_MAX],
                             uint32_t *name_bytes) {
    size_t bytes = SIZE_MAX;
    if (lookup_has(&message->lookup, KEY_EVENT) && message->lookup.type[KEY_EVENT] == JSON_STRING)
        bytes = json_string_decode(message->body, message->lookup.value[KEY_EVENT], name, EVENT_BYTES_MAX);
    *name_bytes = (uint32_t)bytes;
    if (bytes != SIZE_MAX && bytes != 0)
        return true;
    refuse_field(shard, message, "params.event", "a string of 1 to 255 bytes");
    return false;
}

static struct parcel *parcel_of_body(struct shard *shard, const struct text *body) {
    assert(!body->failed && body->length > 0);
    char *copy = memory_take(body->length);
    if (copy)
        memcpy(copy, body->bytes, body->length);
    struct parcel *parcel = copy ? parcel_from_text(&shard->parcels, copy, body->length) : NULL;
    if (!parcel)
        memory_give(copy);
    else
        parcel->lane = LANE_NORMAL;
    return parcel;
}

static struct parcel *events_parcel_of(struct shard *shard, const struct event *event) {
    if (event->message)
        return parcel_of_event(shard, event->message);
    if (event->body)
        return parcel_of_body(shard, event->body);
    const struct event_run *run = event->run;
    assert(run->count > 0 && run->count <= EVENT_RUN_MAX);
    struct span frames = {run->at, run->ends[run->count - 1]};
    struct parcel *parcel = parcel_frame_run(&shard->parcels, run->buffer, frames, run->count);
    if (parcel)
        parcel->lane = run->lane;
    return parcel;
}

// Adds a copy for each shard that has subscribers. Without memory, returns false for a request. A notification then
// gets a copy without a parcel, and the shard tells its subscribers that they have missed the event.
static bool make_copies(struct shard *shard, const struct event *event, const struct audience *audience,
                        struct publication *publication) {
    for (uint32_t index = 0; index < audience->count; index++) {
        struct parcel *parcel = events_parcel_of(shard, event);
        if (!parcel && publication->is_request)
            return false;
        publication_add(publication, audience->shards[index], parcel);
    }
    return true;
}

static struct publication *publication_make(struct shard *shard, const struct event *event,
                                            const struct audience *audience) {
    struct publication *publication = publication_take(shard, event, audience->count);
    if (!publication || make_copies(shard, event, audience, publication))
        return publication;
    while (publication->copy_count)
        send_release(shard, publication->copies[--publication->copy_count].parcel);
    publication_give(shard, publication);
    return NULL;
}

static void events_answer(struct shard *shard, struct peer *source, const struct publication *publication) {
    char result[40] = "{\"delivered\":";
    assert(publication->is_request && publication->awaited == 0);
    size_t bytes = strlen(result);
    bytes += text_digits(result + bytes, publication->delivered);
    result[bytes++] = '}';
    struct reply_to to = {publication->id, publication->id_bytes, publication->exchange};
    if (source) {
        reply_result(shard, source, to, result, bytes);
        assert(source->awaited > 0);
        source->awaited--;
        peer_settle(shard, source);
    } else {
        reply_missed(shard, publication->source, to);
    }
}

// Counts the deliveries of an event for its user, by the limit that was in effect when the event was charged: the user
// may have another limit by now.
static void count_fanout(struct shard *shard, const struct user *user, uint64_t fanout, uint32_t expected,
                         uint32_t delivered) {
    const struct account_limits limits = {.fanout = fanout};
    if (user)
        account_fanout_made(user->account, &limits, io_now(shard->io), expected, delivered);
}

// Adds up what one copy has reached. The last copy ends the publication.
static void events_report(struct shard *shard, struct publication_copy *copy) {
    struct publication *publication = copy->publication;
    assert(publication->awaited > 0 && connection_shard(publication->source) == shard->index);
    assert(copy->delivered <= (uint64_t)copy->subscribers * publication->count);
    publication->subscribers += copy->subscribers;
    publication->delivered += copy->delivered;
    if (--publication->awaited)
        return;
    count_fanout(shard, publication->user, publication->fanout, publication->counted, publication->delivered);
    if (publication->subscribers == 0)
        stats_add(&shard->stats, COUNT_EVENTS_UNHEARD, publication->count);
    if (__builtin_expect(publication->observation != NULL, false))
        feature_event_ended(shard, publication->observation, publication->delivered, false);
    if (publication->is_request)
        events_answer(shard, peer_find(shard, publication->source), publication);
    assert(shard->events_out > 0);
    shard->events_out--;
    publication_give(shard, publication);
}

// Sends the copies to their shards. The copy of the source's own shard is reported last, so that the publication
// doesn't end in the middle; an empty copy stands in where that shard has no subscribers.
static void send_copies(struct shard *shard, struct publication *publication) {
    struct publication_copy none = {.publication = publication}, *own = &none;
    for (uint32_t index = 0; index < publication->copy_count; index++) {
        struct publication_copy *copy = &publication->copies[index];
        assert(copy->publication == publication);
        if (copy->shard == shard->index) {
            own = copy;
            continue;
        }
        copy->mail.kind = MAIL_EVENT;
        mailbox_post(hub_mailbox(shard->hub, shard->index, copy->shard), &copy->mail);
    }
    publication->awaited = publication->copy_count + (own == &none);
    if (own != &none)
        event_fanout_to_all(shard, own);
    events_report(shard, own);
}

// Returns whether a mailbox on the way, or on the way back, is half full of events. The other half is left to requests,
// which are refused when a mailbox is full, while an event may be missed.
static bool is_crowded(const struct shard *shard, const struct audience *audience) {
    if (shard->events_out >= MAILBOX_MESSAGES / 2)
        return true;
    for (uint32_t index = 0; index < audience->count; index++)
        if (mailbox_crowded(hub_mailbox(shard->hub, shard->index, audience->shards[index])))
            return true;
    return false;
}

// Delivers an event to the subscribers of all shards. Returns false, and delivers nothing, if the event is a request,
// and memory is used up or a mailbox is crowded. All subscribers miss a notification then.
static bool fan_out_event(struct shard *shard, struct event *event) {
    struct audience audience;
    audience_find(shard, &audience);
    bool crowded = is_crowded(shard, &audience);
    struct publication *publication = crowded ? NULL : publication_make(shard, event, &audience);
    if (publication) {
        shard->events_out++;
        send_copies(shard, publication);
        return true;
    }
    count_fanout(shard, event->user, event->fanout, event->expected, 0);
    event->user = NULL;
    if (event->observation)
        feature_event_ended(shard, event->observation, 0, true);
    event->observation = NULL;
    if (event->to.id)
        return false;
    missed_events_add(shard, event, crowded ? COUNT_DROP_EVENT_OVERLOADED : COUNT_DROP_EVENT_NO_MEMORY);
    return true;
}

void events_report_missed(struct shard *shard) {
    struct audience audience;
    audience_find(shard, &audience);
    if (is_crowded(shard, &audience))
        return;
    for (struct publication *publication; (publication = missed_events_take(shard));) {
        for (uint32_t index = 0; index < audience.count; index++)
            publication_add(publication, audience.shards[index], NULL);
        shard->events_out++;
        send_copies(shard, publication);
    }
}

// Charges the user's fan-out limit for the expected deliveries. Returns false if the event was refused.
static bool estimate_fanout(struct shard *shard, const struct message *message, struct event *event) {
    // The fan-out of a message from another hub was charged there
    const struct user *user = message->origin ? NULL : identity_user(message->peer);
    if (!user || !users_rights(user)->limits.fanout)
        return true;
    event->user = user;
    event->fanout = users_rights(user)->limits.fanout;
    event->expected = subscriber_count_for(shard->hub->demand, event->name, event->name_bytes);
    uint64_t wait_ms =
        account_fanout(user->account, &users_rights(user)->limits, io_now(shard->io), event->expected);
    if (wait_ms)
        refuse_limit(shard, message, LIMIT_FANOUT, wait_ms);
    return wait_ms == 0;
}

static void publish_alone(struct shard *shard, const struct message *message, const char *name,
                          uint32_t name_bytes) {
    struct event event = {
        .message = message,
        .source = message->peer->connection_id,
        .required = message_required_level(shard, message),
        .count = 1,
        .name = name,
        .name_bytes = name_bytes,
    };
    bool is_request = message_is_request(message);
    if (is_request)
        event.to = message_reply_to(message);
    if (shard->settings->users && !estimate_fanout(shard, message, &event))
        return;
    feature_event_began(shard, message, &event.observation);
    message->peer->awaited += is_request;
    if (fan_out_event(shard, &event))
        return;
    assert(message->peer->awaited >= is_request);
    message->peer->awaited -= is_request;
    refuse_for(shard, message, ERROR_OVERLOADED, "there is no memory for the event");
}

void events_announce(struct shard *shard, uint64_t source, const struct user *user, const char *name,
                     const struct text *body) {
    struct event event = {
        .body = body,
        .guarded = true,
        .guarded_from = user,
        .source = source,
        .count = 1,
        .name = name,
        .name_bytes = (uint32_t)strlen(name),
    };
    assert(!shard->event_run.count);
    fan_out_event(shard, &event);
}

bool events_may_announce(struct shard *shard) {
    struct audience audience;
    audience_find(shard, &audience);
    return !is_crowded(shard, &audience);
}

// Publishes that an agent came or went. The event has no peer as its source: the agent's connection may be another
// shard's, and gets no copy.
void events_announce_agent(struct shard *shard, struct presence_change *change, const char *name,
                           const struct text *body) {
    struct event event = {
        .body = body,
        .presence = change,
        .source = connection_id_make(shard->index, 0, 0),
        .count = 1,
        .name = name,
        .name_bytes = (uint32_t)strlen(name),
    };
    assert(!shard->event_run.count && change);
    fan_out_event(shard, &event);
}

// Tells every subscriber that events of other hubs were lost on their way here. Nobody knows which events.
static void report_unknown_all(struct shard *shard, uint64_t times) {
    shard->remote_link.events_unknown = times;
    for (uint32_t slot = 0; slot < shard->peers.capacity; slot++)
        if (shard->peers.slots[slot] && shard->peers.slots[slot]->subscriber.count > 0)
            send_missed_unknown(shard, shard->peers.slots[slot]);
}

void events_report_unknown(struct shard *shard) {
    uint64_t times = atomic_load_explicit(&shard->hub->events_unknown, memory_order_acquire);
    if (times != shard->remote_link.events_unknown)
        report_unknown_all(shard, times);
}

// --- Runs

void events_publish_run(struct shard *shard) {
    struct event_run *run = &shard->event_run;
    assert(run->count > 0 && run->buffer);
    struct event event = {
        .run = run,
        .source = run->source,
        .required = run->required,
        .count = run->count,
        .name = run->name,
        .name_bytes = run->name_bytes,
    };
    fan_out_event(shard, &event);
    buffer_drop(run->buffer);
    run->count = 0;
}

static void gather_event(struct shard *shard, const struct message *message, const char *name,
                         uint32_t name_bytes) {
    struct event_place event = {
        .frame = message->frame,
        .source = message->peer->connection_id,
        .required = message_required_level(shard, message),
        .lane = (uint8_t)message_lane(message),
        .name = name,
        .name_bytes = name_bytes,
    };
    if (!event_run_goes_on(&shard->event_run, &event)) {
        events_flush(shard);
        event_run_begin(&shard->event_run, &event);
    }
    event_run_add(&shard->event_run, &event);
    assert(shard->event_run.source == message->peer->connection_id &&
           shard->event_run.buffer == message->frame->buffer);
    if (shard->event_run.count == EVENT_RUN_MAX) // the run is full
        events_publish_run(shard);
}

// Sends a copy to all other hubs, whoever has subscribed there. A copy that can't be sent is counted. Subscribers of
// this hub get theirs all the same.
static void events_cross(struct shard *shard, const struct message *message, const char *name,
                         uint32_t name_bytes) {
    struct remote_target to;
    if (remote_target_find_all(shard, message, SUBJECT_EVENT, name, name_bytes, &to) &&
        remote_route_copy(shard, message, parcel_of_event(shard, message), &to))
        stats_count(&shard->stats, COUNT_EVENTS_SENT);
}

void events_publish(struct shard *shard, const struct message *message) {
    char name[EVENT_BYTES_MAX];
    uint32_t name_bytes;
    stats_count(&shard->stats, COUNT_EVENTS_RECEIVED);
    if (!events_read_name(shard, message, name, &name_bytes))
        return;
    if (__builtin_expect(hub_has_cluster(shard->hub), false))
        events_cross(shard, message, name, name_bytes);
    // Where users are on, each bears its user's name, and is counted. An observed event goes by itself, too.
    if (!message_is_request(message) && event_run_takes(message->frame) && !shard->settings->users &&
        !shard->features->event_began[0]) {
        gather_event(shard, message, name, name_bytes);
        return;
    }
    events_flush(shard);
    publish_alone(shard, message, name, name_bytes);
}

bool events_may_publish(struct shard *shard, const struct message *message) {
    char name[EVENT_BYTES_MAX];
    uint32_t name_bytes;
    return events_read_name(shard, message, name, &name_bytes) &&
           authz_publish(shard, message, name, name_bytes);
}

void events_returned(struct shard *shard, struct mail *mail) {
    assert(mail->kind == MAIL_EVENT_ACK);
    events_report(shard, list_entry(mail, struct publication_copy, mail));
}

// --- Another shard

void events_arrived(struct shard *shard, struct mail *mail) {
    struct publication_copy *copy = list_entry(mail, struct publication_copy, mail);
    uint32_t home = connection_shard(copy->publication->source);
    assert(mail->kind == MAIL_EVENT && copy->shard == shard->index && home != shard->index);
    event_fanout_to_all(shard, copy);
    mail->kind = MAIL_EVENT_ACK;
    mailbox_post(hub_mailbox(shard->hub, shard->index, home), mail);
}

// --- Presence

// Appends the data of a presence event. `is_whole`: with all capabilities, for other hubs, which judge who may see the
// agent.
static void put_data(struct text *body, const struct presence_change *change, bool is_whole) {
    const struct capabilities *capabilities = change->capabilities;
    bool registered = change->reason == PRESENCE_REGISTERED;
    reply_data_string(body, "agentId", change->agent_id, change->agent_id_bytes);
    if (capabilities && (is_whole || (registered && capabilities->bytes <= PRESENCE_TOLD_BYTES_MAX))) {
        text_put(body, ",\"capabilities\":");
        text_add(body, (const char *)capabilities->text, capabilities->bytes);
    }
    if (registered)
        reply_data_text(body, "governanceLevel", governance_text(change->governance));
    else
        reply_data_text(body, "reason", presence_reason_text(change->reason));
    if (change->hub.bytes)
        reply_data_string(body, "hub", change->hub.text, change->hub.bytes);
    text_put(body, "}");
}

static void put_event(struct text *body, const struct presence_change *change, const char *name) {
    struct text data;
    text_put(body, "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"event\":\"");
    text_put(body, name);
    text_put(body, "\",\"data\":");
    text_init(&data);
    put_data(&data, change, false);
    text_add(body, data.bytes, data.failed ? 0 : data.length);
    text_put(body, "}}");
    body->failed |= data.failed;
    text_deinit(&data);
}

// Tells subscribers to events of this name that they have missed `count` events.
static void miss(struct shard *shard, const char *name, uint32_t count) {
    const struct event event = {
        .source = connection_id_make(shard->index, 0, 0),
        .count = count,
        .name = name,
        .name_bytes = (uint32_t)strlen(name),
    };
    assert(event.name_bytes > 0);
    if (count > 0)
        missed_events_add(shard, &event, COUNT_DROP_EVENT_NO_MEMORY);
}

static void publish_here(struct shard *shard, struct presence_change *change, const char *name) {
    struct text body;
    assert(change->references > 0 && change->agent_id_bytes > 0);
    text_init(&body);
    put_event(&body, change, name);
    if (body.failed)
        miss(shard, name, 1);
    else
        events_announce_agent(shard, change, name, &body);
    text_deinit(&body);
}

// Tells other hubs that an agent of this hub came or went. Agents that other hubs can't reach aren't told of.
static void publish_remote(struct shard *shard, const struct presence_change *change, const char *name) {
    struct text data;
    assert(!change->hub.bytes && !change->local_only);
    text_init(&data);
    put_data(&data, change, true);
    remote_route_announce(shard, name, &data);
    text_deinit(&data);
}

static void publish_change(struct shard *shard, struct presence_change *change) {
    const struct hub *hub = shard->hub;
    bool registered = change->reason == PRESENCE_REGISTERED,
         is_own = !change->hub.bytes && !change->local_only;
    const char *name = registered ? PRESENCE_REGISTERED_EVENT : PRESENCE_LEFT_EVENT;
    if (is_own && atomic_load_explicit(&hub->presence_hubs, memory_order_acquire))
        publish_remote(shard, change, name);
    if (atomic_load_explicit(&hub->presence_subscriptions, memory_order_acquire))
        publish_here(shard, change, name);
}

void presence_event_publish(struct shard *shard) {
    struct list *changes = &shard->presence.changes;
    assert(shard->index == 0 || shard->index + 1 == shard->hub->start_settings.shard_count);
    while (!list_empty(changes) && events_may_announce(shard)) {
        struct presence_change *change = list_entry(changes->next, struct presence_change, link);
        list_remove(&change->link);
        publish_change(shard, change);
        presence_drop(shard, change);
    }
    struct presence_queue *queue = &shard->presence;
    miss(shard, PRESENCE_REGISTERED_EVENT, queue->missed_came);
    miss(shard, PRESENCE_LEFT_EVENT, queue->missed_went);
    if (queue->missed_came + queue->missed_went > 0 && atomic_load(&shard->hub->presence_hubs))
        atomic_fetch_add_explicit(&shard->hub->events_dropped, 1, memory_order_relaxed);
    queue->missed_came = queue->missed_went = 0;
}
