#include "router/features/cluster/inbound_request.h"

#include <assert.h>
#include <string.h>

#include "router/engine/request/cancel.h"
#include "router/engine/request/completion.h"
#include "router/engine/request/validate.h"
#include "router/engine/send/exchange.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/identity.h"
#include "router/features/cluster/hub_message.h"
#include "router/features/cluster/nats_publish.h"
#include "router/features/gate/gate_hold.h"
#include "router/forwarding/remote_target.h"
#include "router/methods/cancel_request.h"
#include "router/rights/authn.h"
#include "router/routing/route.h"

// --- The table

static uint64_t hash_of(const struct inbound_requests *requests, const struct cluster_member *hub,
                        uint64_t number) {
    assert(hub && number);
    return hash_table_hash(number ^ hub->serial << 32, requests->secret);
}

static uint64_t hash_of_request(const struct hash_table *by_number, const struct hash_node *node) {
    const struct reply_place *place = &hash_table_entry(node, struct inbound_request, node)->place;
    return hash_of(hash_table_entry(by_number, const struct inbound_requests, by_number), place->hub,
                   place->number);
}

void inbound_request_init(struct inbound_requests *requests, const struct siphash_key *key,
                          struct quota *quota) {
    *requests = (struct inbound_requests){.quota = quota};
    requests->secret = siphash_table(key, "inbound", 7);
    hash_table_init(&requests->by_number, hash_of_request, quota);
    list_init(&requests->untold);
    list_init(&requests->client_requests);
}

static struct inbound_request *inbound_request_find(const struct inbound_requests *requests,
                                                    const struct cluster_member *hub, uint64_t number) {
    struct hash_node *node =
        number ? hash_table_find(&requests->by_number, hash_of(requests, hub, number)) : NULL;
    for (; node; node = node->next) {
        struct inbound_request *request = hash_table_entry(node, struct inbound_request, node);
        if (request->place.hub == hub && request->place.number == number)
            return request;
    }
    return NULL;
}

static struct inbound_request *enter(struct link *link, struct exchange *exchange,
                                     const struct reply_place *place,
                                     struct nats_subscription *subscription) {
    struct inbound_requests *requests = &link->inbound;
    uint32_t bytes = place->hub ? 0 : place->reply_bytes;
    struct inbound_request *request = quota_take(requests->quota, sizeof *request + bytes);
    assert(place->hub || bytes);
    if (!request)
        return NULL;
    *request = (struct inbound_request){.exchange = exchange,
                                        .place = *place,
                                        .came_ms = shard_now_ms(link->shard),
                                        .subscription = subscription};
    if (bytes)
        request->place.reply = memcpy(request->reply, place->reply, bytes);
    if (place->hub && !hash_table_add(&requests->by_number, &request->node)) {
        quota_give(requests->quota, request);
        return NULL;
    }
    list_append(place->hub ? &place->hub->inbound : &requests->client_requests, &request->by_hub);
    list_init(&request->untold);
    if (place->hub)
        list_append(&requests->untold, &request->untold);
    if (subscription)
        subscription->unanswered++;
    exchange->inbound = request;
    return request;
}

static void leave(struct inbound_requests *requests, struct inbound_request *request) {
    assert(request->exchange->inbound == request);
    request->exchange->inbound = NULL;
    if (request->place.hub)
        hash_table_remove(&requests->by_number, &request->node);
    list_remove(&request->by_hub);
    list_remove(&request->untold);
    if (request->subscription)
        nats_subscriptions_left(request->subscription, requests->quota);
    quota_give(requests->quota, request);
}

void inbound_request_forget_all(struct inbound_requests *requests) {
    while (!list_empty(&requests->client_requests))
        leave(requests, list_entry(requests->client_requests.next, struct inbound_request, by_hub));
    assert(requests->by_number.count == 0); // requests of hubs were removed with their members
}

void inbound_request_deinit(struct inbound_requests *requests) {
    inbound_request_forget_all(requests);
    hash_table_deinit(&requests->by_number);
}

// --- Answers

static size_t put_reply(const struct reply_place *place, char out[SUBJECT_BYTES_MAX]) {
    assert(!place->hub == !place->number);
    if (place->hub)
        return answer_subject_put(&place->hub->answers, place->number, out);
    memcpy(out, place->reply, place->reply_bytes);
    return place->reply_bytes;
}

// Sends an answer. Returns ERROR_NONE and takes the parcel, or returns why the answer can't be sent: then the caller
// keeps the parcel.
static enum error send_answer(struct link *link, const struct reply_place *place, struct parcel *parcel,
                              uint64_t *bytes) {
    char subject[SUBJECT_BYTES_MAX];
    struct hub_envelope envelope = {.subject = subject, .is_bare = !place->hub};
    envelope.subject_bytes = put_reply(place, subject);
    enum error error = remote_target_put_head(link->shard, parcel, &envelope, bytes);
    if (!error)
        send_queue_required(link->shard, link->peer, parcel);
    return error;
}

// Sends an error as the answer. `data` is a JSON object that isn't closed yet.
static void send_error(struct link *link, const struct reply_place *place, enum error error,
                       const struct text *data) {
    uint64_t bytes;
    char digits[24];
    struct shard *shard = link->shard;
    struct text text;
    struct reply_to to = {.id = digits,
                          .id_bytes = place->number ? (uint32_t)text_digits(digits, place->number) : 0};
    reply_put_error(&text, to, error, data);
    struct parcel *parcel = text.failed ? NULL : parcel_from_text(&shard->parcels, text.bytes, text.length);
    if (!parcel)
        text_deinit(&text);
    if (parcel && send_answer(link, place, parcel, &bytes) == ERROR_NONE)
        return;
    if (parcel)
        parcel_drop(parcel);
    drop_one(shard, COUNT_DROP_NO_MEMORY, link->peer->connection_id, 0);
    if (place->hub) // a hub would wait for the answer
        peer_close(shard, link->peer, COUNT_CLOSED_NO_MEMORY);
}

// Counts an answered request under the name it was sent to: its time, and whether the answer is an error.
static void note_answer(struct link *link, const struct inbound_request *request, bool is_error) {
    struct nats_subscription *subscription = request->subscription;
    uint64_t now_ms = shard_now_ms(link->shard);
    assert(request->came_ms <= now_ms);
    if (!subscription)
        return;
    subscription->requests++;
    subscription->errors += is_error;
    subscription->took_ms += now_ms - request->came_ms;
}

static void answer(struct link *link, const struct inbound_request *request, struct parcel *parcel) {
    const struct reply_place *place = &request->place;
    uint64_t bytes = 0;
    struct text data;
    enum error error = send_answer(link, place, parcel, &bytes);
    assert(request->exchange->inbound == request);
    if (!error)
        return;
    drop_one(link->shard,
             error == ERROR_FRAME_TOO_LARGE ? COUNT_DROP_RESPONSE_OVER_PAYLOAD : COUNT_DROP_NO_MEMORY,
             link->peer->connection_id, parcel->bytes);
    send_release(link->shard, parcel);
    text_init(&data);
    if (error == ERROR_FRAME_TOO_LARGE)
        remote_target_put_sizes(link->shard, &data, bytes);
    send_error(link, place, error, &data);
    text_deinit(&data);
}

bool inbound_request_pack_answer(struct shard *shard, struct peer *peer, struct exchange *exchange,
                                 const struct frame *frame, struct span id, struct piece text,
                                 bool is_error) {
    char subject[SUBJECT_BYTES_MAX];
    struct link *link = link_of(shard, peer);
    struct inbound_request *request = exchange->inbound;
    struct hub_envelope envelope = {.subject = subject};
    if (!link || !request || !request->place.hub || !send_may_pack(shard, peer))
        return false;
    envelope.subject_bytes = put_reply(&request->place, subject);
    if (!remote_target_pack_enveloped(shard, peer, frame, id, text, 0, &envelope))
        return false;
    note_answer(link, request, is_error);
    leave(&link->inbound, request);
    return true;
}

void inbound_request_respond(struct shard *shard, struct peer *peer, struct exchange *exchange) {
    struct link *link = link_of(shard, peer);
    struct inbound_request *request = exchange->inbound;
    struct parcel *parcel = parcel_list_take(&exchange->answers);
    assert(!exchange->is_array);
    if (request && link)
        note_answer(link, request, !parcel || exchange->is_error);
    if (request && link && parcel)
        answer(link, request, parcel);
    else if (parcel)
        send_release(shard, parcel);
    if (request && link)
        leave(&link->inbound, request);
    exchange_free(shard, exchange);
}

// Notes that the hub of a request has been told that the request was taken.
static void acknowledge(struct inbound_request *request) {
    assert(request->place.hub);
    list_remove(&request->untold);
    list_init(&request->untold);
}

// Sends a progress report to the hub that sent the request, and to no other hub.
void inbound_request_report(struct shard *shard, struct peer *peer, const struct pending *pending,
                            struct parcel *parcel) {
    struct link *link = link_of(shard, peer);
    struct inbound_request *request = link && pending->exchange ? pending->exchange->inbound : NULL;
    char subject[SUBJECT_BYTES_MAX];
    struct hub_envelope envelope = {.subject = subject};
    enum counter reason = COUNT_DROP_PROGRESS_UNKNOWN;
    uint64_t bytes;
    assert(!parcel->hub_id);
    if (request && request->place.hub) {
        envelope.subject_bytes = subject_write_hub(subject, shard->hub->start_settings.cluster.name,
                                                   &request->place.hub->hub, SUBJECT_PROGRESS, 0);
        enum error error = remote_target_put_head(shard, parcel, &envelope, &bytes);
        if (!error) {
            acknowledge(request);
            send_queue_this_process(shard, peer, parcel);
            return;
        }
        reason = error == ERROR_FRAME_TOO_LARGE ? COUNT_DROP_PROGRESS_OVER_PAYLOAD : COUNT_DROP_NO_MEMORY;
    }
    drop_one(shard, reason, peer->connection_id, parcel->bytes);
    send_release(shard, parcel);
}

void inbound_request_hold(struct shard *shard, const struct message *message, const char *checkpoint,
                          size_t bytes) {
    struct link *link = link_of(shard, message->peer);
    struct inbound_request *request = message->exchange->inbound;
    struct text json;
    if (!link || !request || !request->place.hub)
        return;
    text_init(&json);
    reply_data_number(&json, "waitMs", (int64_t)(gate_option(shard, GATE_OPTION_WAIT_NS) / 1000000));
    reply_data_string(&json, "checkpoint", checkpoint, bytes);
    text_put(&json, "}");
    acknowledge(request);
    struct hub_words words = {
        .kind = SUBJECT_HELD, .hub = &request->place.hub->hub, .number = request->place.number};
    nats_publish(link, &words, &json);
}

// --- The identity of the link's peer

static void begin_identity(struct link *link, const struct origin *origin) {
    struct identity *identity = identity_of(link->peer);
    if (identity && origin->user)
        authn_identify(identity, origin->user, CREDENTIAL_HUB);
}

static void end_identity(struct link *link) {
    struct identity *identity = identity_of(link->peer);
    assert(link->peer);
    if (!identity)
        return;
    authn_forget(identity);
    identity->kind = CREDENTIAL_HUB;
}

// --- Requests from other hubs

// Reads the agent or capability from the subject, for a body that doesn't name its target.
static enum error read_target(struct link *link, const struct hub_message *message, struct origin *origin) {
    const struct subject *subject = &message->subject;
    struct attachment *target = link->target;
    size_t at = subject->kind == SUBJECT_CAPABILITY;
    assert(!origin->target);
    if (!origin->hub.bytes || (subject->kind != SUBJECT_AGENT && subject->kind != SUBJECT_CAPABILITY))
        return ERROR_NONE;
    target->agent[0] = '@';
    size_t count = subject_unescape(target->agent + at, AGENT_ID_BYTES_MAX - at,
                                    message->bytes + subject->token.at, subject->token.bytes);
    if (count == SIZE_MAX || count == 0)
        return ERROR_AGENT_NOT_FOUND;
    target->bytes = (uint32_t)(at + count);
    origin->target = target;
    return ERROR_NONE;
}

static void read_origin(const struct link *link, const struct hub_message *message, struct origin *origin) {
    const struct hub_header *header = &message->header;
    bool is_hub = header->is_present;
    origin->kind = message->subject.kind;
    origin->target = NULL;
    origin->hub = header->hub;
    origin->from = is_hub ? message->bytes + header->from.at : (const uint8_t *)"0";
    origin->from_bytes = is_hub ? header->from.bytes : 1;
    origin->user = is_hub ? hub_message_user(link, message) : NULL;
    origin->agent_bytes = is_hub && header->agent.bytes <= AGENT_ID_BYTES_MAX ? header->agent.bytes : 0;
    memcpy(origin->agent, message->bytes + header->agent.at, origin->agent_bytes);
}

static void refuse(struct link *link, const struct reply_place *place, enum error error, uint64_t excess) {
    const struct limits *limits = shard_limits(link->shard);
    struct text data;
    assert(error != ERROR_NONE);
    if (!place->hub && !place->reply_bytes)
        return;
    text_init(&data);
    if (error == ERROR_FRAME_TOO_LARGE) {
        reply_data_text(&data, "fault", "the request is over the other hub's limit");
        reply_data_number(&data, "limit", excess ? limits->frame_bytes_max : limits->header_bytes_max);
        if (excess > limits->frame_bytes_max)
            reply_data_number(&data, "bytes", (int64_t)excess);
    }
    send_error(link, place, error, &data);
    text_deinit(&data);
}

static void route_request(struct link *link, struct hub_message *message, const struct reply_place *place,
                          const struct origin *origin) {
    struct shard *shard = link->shard;
    struct exchange *exchange = exchange_open(shard, link->peer);
    if (!exchange) {
        peer_close(shard, link->peer, COUNT_CLOSED_NO_MEMORY);
        return;
    }
    if (enter(link, exchange, place,
              nats_subscriptions_find(&link->subscriptions, message->bytes, message->said->subject,
                                      message->said->sid)))
        route_remote(shard, link->peer, &message->frame, exchange, origin);
    else
        refuse(link, place, ERROR_OVERLOADED, 0);
    exchange_close(shard, exchange);
}

// Reads where the request must be answered. Returns false if it can't be answered.
static bool read_place(struct link *link, const struct hub_message *message, struct reply_place *place) {
    struct span reply = message->said->reply;
    *place = (struct reply_place){.reply = message->bytes + reply.at, .reply_bytes = reply.bytes};
    if (!message->header.is_present || !reply.bytes)
        return reply.bytes <= SUBJECT_BYTES_MAX;
    place->hub = message->member;
    place->number = hub_message_reply(message);
    return place->number && !inbound_request_find(&link->inbound, place->hub, place->number);
}

// Returns whether the body is an array. Hubs don't send arrays to each other.
static bool is_array(const struct frame *frame) {
    const uint8_t *body = frame_body(frame);
    uint32_t at = json_skip_space(body, 0, frame->body.bytes);
    return at < frame->body.bytes && body[at] == '[';
}

void inbound_request_take(struct link *link, struct hub_message *message) {
    struct shard *shard = link->shard;
    struct reply_place place;
    struct origin origin;
    assert(!message->header.is_present == !message->member);
    if (!read_place(link, message, &place)) {
        stats_count(&shard->stats, FEATURE_COUNTER(FEATURE_CLUSTER, CLUSTER_COUNT_UNREADABLE));
        return;
    }
    stats_count(&shard->stats, FEATURE_COUNTER(FEATURE_CLUSTER, CLUSTER_COUNT_REQUESTS_RECEIVED));
    read_origin(link, message, &origin);
    enum error error = hub_message_open(shard, message);
    if (!error)
        error = is_array(&message->frame) ? ERROR_METHOD_NOT_FOUND : read_target(link, message, &origin);
    if (!error && shard->settings->users && message->header.is_present && !origin.user)
        error = ERROR_NOT_INITIALIZED; // a message without any user is refused below
    if (error) {
        stats_count(&shard->stats, FEATURE_COUNTER(FEATURE_CLUSTER, CLUSTER_COUNT_UNREADABLE));
        refuse(link, &place, error, message->excess);
        return;
    }
    begin_identity(link, &origin);
    if (message->said->reply.bytes)
        route_request(link, message, &place, &origin);
    else
        route_remote(shard, link->peer, &message->frame, NULL, &origin);
    end_identity(link);
}

// --- Cancels

// Returns the forwarded request; NULL: it has ended, or isn't forwarded.
static struct pending *pending_of(struct link *link, const struct inbound_request *request) {
    uint64_t hub_id = request->exchange->hub_id;
    struct pending *pending = hub_id ? pending_find(&link->shard->pending, hub_id) : NULL;
    assert(!pending || pending->exchange == request->exchange);
    return pending;
}

bool inbound_request_cancel(struct link *link, struct hub_message *hub_message) {
    struct message message;
    struct origin origin;
    uint64_t number;
    assert(hub_message->member);
    if (hub_message_open(link->shard, hub_message) != ERROR_NONE)
        return false;
    read_origin(link, hub_message, &origin);
    message_begin(&message, link->peer, NULL);
    validate_look_up(link->shard, &message, &hub_message->frame);
    if (message.lookup.verdict != LOOKUP_GOOD || message.lookup.kind != BODY_NOTIFICATION ||
        !cancel_request_number(&message, &number))
        return false;
    struct inbound_request *request = inbound_request_find(&link->inbound, hub_message->member, number);
    struct pending *pending = request ? pending_of(link, request) : NULL;
    struct held_message *held =
        request && !pending ? gate_hold_find_exchange(link->peer, request->exchange) : NULL;
    if (held)
        gate_hold_cancel(link->shard, held);
    if (!pending || pending->cancelled)
        return true;
    message.origin = &origin;
    route_query_read_method(&message);
    return cancel_request_remote(link->shard, &message, pending);
}

// Ends a request, which may be forwarded, held, or neither. No answer is sent.
static void end_one(struct link *link, struct inbound_request *request) {
    struct shard *shard = link->shard;
    struct pending *pending = pending_of(link, request);
    struct held_message *held = pending ? NULL : gate_hold_find_exchange(link->peer, request->exchange);
    assert(request->exchange->inbound == request);
    leave(&link->inbound, request);
    if (held)
        gate_hold_abandon(shard, held);
    if (pending)
        completion_give_up(shard, pending, false);
}

void inbound_request_lose(struct link *link, struct cluster_member *member) {
    while (!list_empty(&member->inbound))
        end_one(link, list_entry(member->inbound.next, struct inbound_request, by_hub));
    assert(list_empty(&member->inbound));
}

void inbound_request_end(struct link *link, struct cluster_member *member) {
    assert(link->peer);
    LIST_EACH (const struct inbound_request, request, &member->inbound, by_hub)
        send_error(link, &request->place, ERROR_TARGET_DISCONNECTED, NULL);
    inbound_request_lose(link, member);
}

// --- Reports of taken requests

enum { TAKEN_NUMBERS_MAX = 2000 }; // in one message

// Tells a hub which of its requests this hub has taken: those that came until `until_ms`, and that the hub doesn't know
// of yet.
static void tell_hub(struct link *link, struct cluster_member *hub, uint64_t until_ms) {
    uint32_t count = 0;
    struct text json;
    assert(!list_empty(&link->inbound.untold));
    text_init(&json);
    LIST_EACH (struct inbound_request, request, &link->inbound.untold, untold) {
        if (request->came_ms > until_ms || count == TAKEN_NUMBERS_MAX)
            break;
        if (request->place.hub != hub)
            continue;
        text_put(&json, count++ ? "," : "[");
        text_number(&json, (int64_t)request->place.number);
        acknowledge(request);
    }
    text_put(&json, "]");
    nats_publish(link, &(struct hub_words){.kind = SUBJECT_TAKEN, .hub = &hub->hub}, &json);
}

void inbound_request_tick(struct link *link) {
    struct list *untold = &link->inbound.untold;
    uint64_t now_ms = shard_now_ms(link->shard);
    assert(link->state == LINK_UP);
    while (!list_empty(untold) && link->peer->state == PEER_OPEN) {
        struct inbound_request *oldest = list_entry(untold->next, struct inbound_request, untold);
        if (now_ms - oldest->came_ms < CLUSTER_TICK_MS)
            return;
        tell_hub(link, oldest->place.hub, now_ms - CLUSTER_TICK_MS);
    }
}
