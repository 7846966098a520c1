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
#include "router/routing/route_query.h"

// --- The table

void inbound_request_init(struct inbound_requests *requests, const struct siphash_key *key,
                          struct quota *kept) {
    *requests = (struct inbound_requests){.kept = kept};
    requests->secret = siphash_table(key, "inbound", 7);
    hash_table_init(&requests->by_number, kept);
    list_init(&requests->untold);
    list_init(&requests->strays);
}

static uint64_t hash_of(const struct inbound_requests *requests, const struct cluster_member *hub,
                        uint64_t number) {
    assert(hub && number);
    return hash_table_hash(number ^ (uintptr_t)hub, requests->secret);
}

static struct inbound_request *inbound_request_find(const struct inbound_requests *requests,
                                                    const struct cluster_member *hub, uint64_t number) {
    struct hash_node *node =
        number ? hash_table_find(&requests->by_number, hash_of(requests, hub, number)) : NULL;
    for (; node; node = hash_table_next(node)) {
        struct inbound_request *request = hash_table_entry(node, struct inbound_request, node);
        if (request->hub == hub && request->number == number)
            return request;
    }
    return NULL;
}

static void give(struct inbound_requests *requests, struct inbound_request *request) {
    if (request->reply_bytes)
        quota_give(requests->kept, request);
    else
        freelist_give(&requests->spares, requests->kept, request);
}

// Where a request is answered.
struct reply_place {
    struct cluster_member *hub;
    uint64_t number;
    const uint8_t *reply; // of a client
    uint32_t reply_bytes;
};

static struct inbound_request *enter(struct link *link, struct exchange *exchange,
                                     const struct reply_place *place,
                                     struct nats_subscription *subscription) {
    struct inbound_requests *requests = &link->inbound;
    uint32_t bytes = place->hub ? 0 : place->reply_bytes;
    struct inbound_request *request = bytes ? NULL : freelist_take(&requests->spares);
    assert(link->shard->index == 0);
    if (!request)
        request = quota_take(requests->kept, sizeof *request + bytes);
    if (!request)
        return NULL;
    *request = (struct inbound_request){.exchange = exchange,
                                        .hub = place->hub,
                                        .number = place->number,
                                        .came_ms = shard_now_ms(link->shard),
                                        .subscription = subscription,
                                        .reply_bytes = bytes};
    if (bytes)
        memcpy(request->reply, place->reply, bytes);
    if (place->hub &&
        !hash_table_add(&requests->by_number, &request->node, hash_of(requests, place->hub, place->number))) {
        give(requests, request);
        return NULL;
    }
    list_append(place->hub ? &place->hub->asked : &requests->strays, &request->by_hub);
    list_init(&request->untold);
    if (place->hub)
        list_append(&requests->untold, &request->untold);
    if (subscription)
        subscription->visitors++;
    exchange->inbound = request;
    return request;
}

static void leave(struct inbound_requests *requests, struct inbound_request *request) {
    assert(request->exchange->inbound == request);
    request->exchange->inbound = NULL;
    if (request->hub)
        hash_table_remove(&requests->by_number, &request->node);
    list_remove(&request->by_hub);
    list_remove(&request->untold);
    if (request->subscription)
        nats_subscriptions_left(request->subscription, requests->kept);
    give(requests, request);
}

void inbound_request_forget_all(struct inbound_requests *requests) {
    while (!list_empty(&requests->strays))
        leave(requests, list_entry(requests->strays.next, struct inbound_request, by_hub));
    assert(requests->by_number.count == 0); // what hubs asked went with them
}

void inbound_request_deinit(struct inbound_requests *requests) {
    inbound_request_forget_all(requests);
    hash_table_deinit(&requests->by_number);
    freelist_release(&requests->spares, requests->kept);
}

// --- Answers

static size_t put_reply(const struct link *link, const struct reply_place *place,
                        char out[SUBJECT_BYTES_MAX]) {
    const char *cluster = link->shard->hub->settings.cluster->name;
    assert(link->shard->index == 0);
    if (place->hub)
        return subject_write_hub(out, cluster, &place->hub->hub, SUBJECT_ANSWER, place->number);
    memcpy(out, place->reply, place->reply_bytes);
    return place->reply_bytes;
}

static struct reply_place place_of(const struct inbound_request *request) {
    assert(!request->hub == !request->number);
    return (struct reply_place){.hub = request->hub,
                                .number = request->number,
                                .reply = (const uint8_t *)request->reply,
                                .reply_bytes = request->reply_bytes};
}

// An answer, which is taken over; ERROR_NONE, or why it can't go, and then it is the caller's still.
static enum error send_answer(struct link *link, const struct reply_place *place, struct parcel *parcel,
                              uint64_t *bytes) {
    char subject[SUBJECT_BYTES_MAX];
    struct hub_envelope envelope = {.subject = subject, .is_bare = !place->hub};
    assert(link->shard->index == 0);
    envelope.subject_bytes = put_reply(link, place, subject);
    enum error error = remote_target_put_head(link->shard, parcel, &envelope, bytes);
    if (!error)
        send_queue_owed(link->shard, link->peer, parcel);
    return error;
}

// `data` is an object that is still open.
static void send_error(struct link *link, const struct reply_place *place, enum error error,
                       const struct text *data) {
    uint64_t bytes;
    char digits[24];
    struct shard *shard = link->shard;
    struct text text;
    struct reply_to to = {.id = digits,
                          .id_bytes = place->number ? (uint32_t)text_digits(digits, place->number) : 0};
    assert(link->shard->index == 0);
    reply_put_error(&text, to, error, data);
    struct parcel *parcel = text.failed ? NULL : parcel_own(&shard->parcels, text.bytes, text.length);
    if (!parcel)
        text_deinit(&text);
    if (parcel && send_answer(link, place, parcel, &bytes) == ERROR_NONE)
        return;
    if (parcel)
        parcel_drop(parcel);
    drop_one(shard, COUNT_DROP_NO_MEMORY, link->peer->name, 0);
    if (place->hub) // which would wait for it
        peer_close(shard, link->peer, COUNT_CLOSED_NO_MEMORY);
}

// What an answer of the hub's own that has no id begins with (engine/send/reply.c).
static const char without_id[] = "{\"jsonrpc\":\"2.0\",\"id\":null,";

// Whether an answer bears no id, and the hub that asked would find nobody for it: so it gets its number.
static bool lacks_id(const struct inbound_request *request, const struct parcel *parcel) {
    const struct piece *first = &parcel->pieces[0];
    assert(parcel->piece_count > 0);
    return request->hub && first->count > sizeof without_id &&
           memcmp(first->bytes, without_id, sizeof without_id - 1) == 0;
}

static bool put_id(struct parcel *parcel, uint64_t number) {
    const struct piece *first = &parcel->pieces[0];
    struct text text;
    text_init(&text);
    text_put(&text, "{\"jsonrpc\":\"2.0\",\"id\":");
    text_number(&text, (int64_t)number);
    text_put(&text, ",");
    text_add(&text, (const char *)first->bytes + sizeof without_id - 1,
             first->count - (sizeof without_id - 1));
    char *own = text.failed ? NULL : parcel_text_take(parcel, text.length);
    if (own) {
        memcpy(own, text.bytes, text.length);
        parcel_retext(parcel, own, text.length);
    }
    text_deinit(&text);
    return own != NULL;
}

// What its name has been asked for so far, and how that went.
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
    struct reply_place place = place_of(request);
    uint64_t bytes = 0;
    struct text data;
    enum error error = ERROR_NONE;
    assert(link->shard->index == 0);
    if (lacks_id(request, parcel) && !put_id(parcel, request->number))
        error = ERROR_OVERLOADED;
    if (!error)
        error = send_answer(link, &place, parcel, &bytes);
    if (!error)
        return;
    drop_one(link->shard,
             error == ERROR_FRAME_TOO_LARGE ? COUNT_DROP_RESPONSE_OVER_PAYLOAD : COUNT_DROP_NO_MEMORY,
             link->peer->name, parcel->bytes);
    send_release(link->shard, parcel);
    text_init(&data);
    if (error == ERROR_FRAME_TOO_LARGE)
        remote_target_put_sizes(link->shard, &data, bytes);
    send_error(link, &place, error, &data);
    text_deinit(&data);
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

// Its hub needn't be told any more that it was taken.
static void tell(struct inbound_request *request) {
    assert(request->hub);
    list_remove(&request->untold);
    list_init(&request->untold);
}

// A report goes to the hub that asked, to nobody else.
void inbound_request_report(struct shard *shard, struct peer *peer, const struct pending *pending,
                            struct parcel *parcel) {
    struct link *link = link_of(shard, peer);
    struct inbound_request *request = link && pending->exchange ? pending->exchange->inbound : NULL;
    char subject[SUBJECT_BYTES_MAX];
    struct hub_envelope envelope = {.subject = subject};
    enum counter reason = COUNT_DROP_PROGRESS_UNKNOWN;
    uint64_t bytes;
    assert(!parcel->hub_id);
    if (request && request->hub) {
        envelope.subject_bytes = subject_write_hub(subject, shard->hub->settings.cluster->name,
                                                   &request->hub->hub, SUBJECT_PROGRESS, 0);
        enum error error = remote_target_put_head(shard, parcel, &envelope, &bytes);
        if (!error) {
            tell(request);
            send_queue_bound(shard, peer, parcel);
            return;
        }
        reason = error == ERROR_FRAME_TOO_LARGE ? COUNT_DROP_PROGRESS_OVER_PAYLOAD : COUNT_DROP_NO_MEMORY;
    }
    drop_one(shard, reason, peer->name, parcel->bytes);
    send_release(shard, parcel);
}

void inbound_request_hold(struct shard *shard, struct peer *peer, struct exchange *exchange,
                          const char *checkpoint, size_t bytes) {
    struct link *link = link_of(shard, peer);
    struct inbound_request *request = exchange->inbound;
    struct text json;
    assert(shard->index == 0);
    if (!link || !request || !request->hub)
        return;
    text_init(&json);
    text_put(&json, "{\"waitMs\":");
    text_number(&json, (int64_t)(shard_limits(shard)->gate_wait_ns / 1000000));
    text_put(&json, ",\"checkpoint\":");
    text_string(&json, checkpoint, bytes);
    text_put(&json, "}");
    tell(request);
    nats_publish_to(link, &request->hub->hub, SUBJECT_HELD, request->number, &json);
}

// --- In whose name

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

// --- Coming

// Who is meant by the subject is meant where the body doesn't say so: of agents and capabilities.
static enum error read_target(struct link *link, const uint8_t *bytes, const struct subject *subject,
                              struct origin *origin) {
    struct attachment *target = link->target;
    size_t at = subject->kind == SUBJECT_CAPABILITY;
    assert(!origin->target);
    if (!origin->hub.bytes || (subject->kind != SUBJECT_AGENT && subject->kind != SUBJECT_CAPABILITY))
        return ERROR_NONE;
    target->agent[0] = '@';
    size_t count = subject_unescape(target->agent + at, AGENT_ID_BYTES_MAX - at, bytes + subject->token.at,
                                    subject->token.bytes);
    if (count == SIZE_MAX || count == 0)
        return ERROR_AGENT_NOT_FOUND;
    target->bytes = (uint32_t)(at + count);
    origin->target = target;
    return ERROR_NONE;
}

static void read_origin(struct link *link, const uint8_t *bytes, const struct hub_header *header,
                        enum subject_kind kind, struct origin *origin) {
    const struct users *users = link->shard->settings->users;
    assert(link->shard->index == 0);
    *origin = (struct origin){.kind = kind};
    if (!header->given)
        return;
    origin->hub = header->hub;
    if (users && header->user.bytes)
        origin->user = users_by_name(users, (const char *)bytes + header->user.at, header->user.bytes);
    if (header->agent.bytes <= AGENT_ID_BYTES_MAX) {
        origin->agent_bytes = header->agent.bytes;
        memcpy(origin->agent, bytes + header->agent.at, header->agent.bytes);
    }
}

static void refuse(struct link *link, const struct reply_place *place, enum error error,
                   const struct hub_message *message) {
    struct shard *shard = link->shard;
    const struct limits *limits = shard_limits(shard);
    uint64_t excess = error == ERROR_FRAME_TOO_LARGE ? message->excess : 0;
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
                          struct nats_subscription *subscription, const struct origin *origin) {
    struct shard *shard = link->shard;
    struct exchange *exchange = exchange_open(shard, link->peer);
    assert(link->shard->index == 0);
    if (!exchange) {
        peer_close(shard, link->peer, COUNT_CLOSED_NO_MEMORY);
        return;
    }
    if (enter(link, exchange, place, subscription))
        route_remote(shard, link->peer, &message->frame, exchange, origin);
    else
        refuse(link, place, ERROR_OVERLOADED, message);
    exchange_close(shard, exchange);
}

// Where it is answered. False: it can't be.
static bool read_place(struct link *link, const uint8_t *bytes, const struct nats_message *said,
                       const struct hub_header *header, struct cluster_member *member,
                       struct reply_place *place) {
    struct subject reply;
    assert(link->shard->index == 0);
    *place = (struct reply_place){.reply = bytes + said->reply.at, .reply_bytes = said->reply.bytes};
    if (!header->given || !said->reply.bytes)
        return said->reply.bytes <= SUBJECT_BYTES_MAX;
    subject_read(link->shard->hub->settings.cluster->name, bytes, said->reply, &reply);
    place->hub = member;
    place->number = reply.number;
    return reply.kind == SUBJECT_ANSWER && reply.number && reply.hub.bytes == header->hub.bytes &&
           memcmp(bytes + reply.hub.at, header->hub.text, reply.hub.bytes) == 0 &&
           !inbound_request_find(&link->inbound, member, reply.number);
}

void inbound_request_take(struct link *link, const struct frame *frame, const struct nats_message *said,
                          const struct subject *subject, const struct hub_header *header,
                          struct cluster_member *member) {
    const uint8_t *bytes = frame->buffer->bytes + frame->at;
    struct shard *shard = link->shard;
    struct hub_message message = {.header = *header};
    struct reply_place place;
    struct origin origin;
    enum error error;
    assert(link->shard->index == 0);
    if (!read_place(link, bytes, said, header, member, &place)) {
        hub_message_count_unreadable(shard);
        return;
    }
    stats_count(&shard->stats, COUNT_REQUESTS_FROM_HUBS);
    read_origin(link, bytes, header, subject->kind, &origin);
    if (hub_message_read(shard, frame, &message, &error))
        error = hub_message_is_array(&message.frame) ? ERROR_METHOD_NOT_FOUND
                                                     : read_target(link, bytes, subject, &origin);
    if (!error && shard->settings->users && header->given && !origin.user) // who isn't named is told so below
        error = ERROR_NOT_INITIALIZED;
    if (error) {
        hub_message_count_unreadable(shard);
        refuse(link, &place, error, &message);
        return;
    }
    begin_identity(link, &origin);
    if (said->reply.bytes)
        route_request(link, &message, &place,
                      nats_subscriptions_find(&link->subscriptions, (const char *)bytes + said->subject.at,
                                              said->subject.bytes),
                      &origin);
    else
        route_remote(shard, link->peer, &message.frame, NULL, &origin);
    end_identity(link);
}

// --- Cancels

// The request that was forwarded; NULL: it has ended, or isn't forwarded.
static struct pending *pending_of(struct link *link, const struct inbound_request *request) {
    uint64_t hub_id = request->exchange->hub_id;
    struct pending *pending = hub_id ? pending_find(&link->shard->pending, hub_id) : NULL;
    assert(!pending || pending->exchange == request->exchange);
    return pending;
}

// False: it isn't what it should be.
static bool pass_cancel(struct link *link, struct message *message, const struct origin *origin,
                        struct pending *pending) {
    message->origin = origin;
    route_query_read_method(message);
    assert(!pending->cancelled);
    return cancel_request_cross(link->shard, message, pending);
}

bool inbound_request_cancel(struct link *link, struct cluster_member *member, const struct frame *frame,
                            const struct hub_header *header) {
    struct hub_message hub_message = {.header = *header};
    struct message message;
    struct origin origin;
    enum error error;
    uint64_t number;
    assert(link->shard->index == 0);
    if (!hub_message_read(link->shard, frame, &hub_message, &error))
        return false;
    read_origin(link, frame->buffer->bytes + frame->at, header, SUBJECT_CANCEL, &origin);
    message_begin(&message, link->peer, NULL);
    message.frame = &hub_message.frame;
    message.body = frame_body(&hub_message.frame);
    validate_look_up(link->shard, &message);
    if (message.lookup.verdict != LOOKUP_GOOD || message.lookup.kind != BODY_NOTIFICATION ||
        !cancel_request_number(&message, &number))
        return false;
    struct inbound_request *request = inbound_request_find(&link->inbound, member, number);
    struct pending *pending = request ? pending_of(link, request) : NULL;
    struct held_message *held =
        request && !pending ? gate_hold_find_exchange(link->peer, request->exchange) : NULL;
    if (held)
        gate_hold_cancel(link->shard, held);
    return !pending || pending->cancelled || pass_cancel(link, &message, &origin, pending);
}

// What isn't forwarded yet, or is held, ends; its answer is nobody's.
static void end_one(struct link *link, struct inbound_request *request) {
    struct shard *shard = link->shard;
    struct pending *pending = pending_of(link, request);
    struct held_message *held = pending ? NULL : gate_hold_find_exchange(link->peer, request->exchange);
    assert(link->shard->index == 0);
    leave(&link->inbound, request);
    if (held)
        gate_hold_abandon(shard, held);
    if (pending)
        completion_give_up(shard, pending, false);
}

void inbound_request_lose(struct link *link, struct cluster_member *member) {
    while (!list_empty(&member->asked))
        end_one(link, list_entry(member->asked.next, struct inbound_request, by_hub));
    assert(list_empty(&member->asked));
}

void inbound_request_end(struct link *link, struct cluster_member *member) {
    assert(link->shard->index == 0);
    for (struct list *node = member->asked.next; node != &member->asked; node = node->next) {
        struct reply_place place = place_of(list_entry(node, struct inbound_request, by_hub));
        struct text data;
        text_init(&data);
        send_error(link, &place, ERROR_TARGET_DISCONNECTED, &data);
        text_deinit(&data);
    }
    inbound_request_lose(link, member);
}

// --- What was taken

enum { TAKEN_NUMBERS_MAX = 2000 }; // in one message

// All that this hub has asked and isn't told of: of those that came long enough ago.
static void tell_hub(struct link *link, struct cluster_member *hub, uint64_t until_ms) {
    struct list *untold = &link->inbound.untold;
    uint32_t count = 0;
    struct text json;
    assert(link->shard->index == 0);
    text_init(&json);
    for (struct list *node = untold->next, *next; node != untold && count < TAKEN_NUMBERS_MAX; node = next) {
        struct inbound_request *request = list_entry(node, struct inbound_request, untold);
        next = node->next;
        if (request->came_ms > until_ms)
            break;
        if (request->hub != hub)
            continue;
        text_put(&json, count++ ? "," : "[");
        text_number(&json, (int64_t)request->number);
        tell(request);
    }
    text_put(&json, "]");
    nats_publish_to(link, &hub->hub, SUBJECT_TAKEN, 0, &json);
}

void inbound_request_tick(struct link *link) {
    struct list *untold = &link->inbound.untold;
    uint64_t now_ms = shard_now_ms(link->shard);
    assert(link->shard->index == 0);
    freelist_shrink(&link->inbound.spares, link->inbound.kept);
    while (!list_empty(untold) && link->peer->state == PEER_OPEN) {
        struct inbound_request *oldest = list_entry(untold->next, struct inbound_request, untold);
        if (now_ms - oldest->came_ms < CLUSTER_TICK_MS)
            return;
        tell_hub(link, oldest->hub, now_ms - CLUSTER_TICK_MS);
    }
}
