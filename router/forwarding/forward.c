#include "router/forwarding/forward.h"

#include <assert.h>
#include <string.h>

#include "core/send/pack.h"
#include "core/wire/field.h"
#include "router/audit/audit.h"
#include "router/engine/message/error_target.h"
#include "router/engine/message/message_copy.h"
#include "router/engine/message/progress_token.h"
#include "router/engine/request/completion.h"
#include "router/engine/request/refuse.h"
#include "router/engine/request/request_timeout.h"
#include "router/engine/request/validate.h"
#include "router/engine/send/exchange.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/feature_call.h"
#include "router/engine/shard/identity.h"
#include "router/engine/shard/peer_cold.h"
#include "router/engine/shard/post.h"
#include "router/forwarding/progress.h"
#include "router/forwarding/remote_target.h"
#include "router/rights/authn.h"

// Returns whether the target has as many pending requests as it may have. Agents at other hubs are bounded by these
// hubs.
static bool has_maximum_pending(struct shard *shard, uint64_t target) {
    return hub_pending(shard->hub, target) >= shard_limits(shard)->pending_max &&
           target != shard->remote_link.registrant.connection;
}

// A target that has gone may still be in this shard's registry, since its order is under way.
enum error forward_fault(struct shard *shard, const struct message *message, uint64_t target) {
    uint32_t to = connection_shard(target);
    assert(to < shard->hub->start_settings.shard_count);
    if (message_is_request(message) && has_maximum_pending(shard, target))
        return ERROR_OVERLOADED;
    if (to != shard->index)
        return mailbox_crowded(hub_mailbox(shard->hub, shard->index, to)) ? ERROR_OVERLOADED : ERROR_NONE;
    struct peer *peer = peer_find(shard, target);
    if (!peer)
        return ERROR_TARGET_DISCONNECTED;
    return queue_limit_has_room(shard, peer) ? ERROR_NONE : ERROR_OVERLOADED;
}

static void forward_deliver(struct shard *shard, uint64_t target, struct parcel *parcel,
                            enum mail_delivery detail) {
    uint32_t to = connection_shard(target);
    if (to == shard->index) {
        assert(peer_find(shard, target)); // as forward_fault saw it
        send_queue(shard, peer_find(shard, target), parcel);
        return;
    }
    parcel->mail.kind = MAIL_DELIVER;
    parcel->mail.detail = (uint8_t)detail;
    parcel->mail.connection = target;
    mailbox_post(hub_mailbox(shard->hub, shard->index, to), &parcel->mail);
}

// Returns false if the parcel was dropped and counted.
static bool hand_over(struct shard *shard, uint64_t connection, struct parcel *parcel,
                      enum mail_delivery detail) {
    assert(parcel->pool == &shard->parcels && !parcel->hub_id);
    uint32_t to = connection_shard(connection);
    const struct peer *peer = to == shard->index ? peer_find(shard, connection) : NULL;
    bool rejected = to == shard->index && !peer;
    bool full = peer ? !queue_limit_has_room(shard, peer)
                     : !rejected && mailbox_crowded(hub_mailbox(shard->hub, shard->index, to));
    if (!rejected && !full) {
        forward_deliver(shard, connection, parcel, detail);
        return true;
    }
    drop_one(shard, rejected ? COUNT_DROP_TARGET_GONE : COUNT_DROP_OVERLOADED, connection, parcel->bytes);
    parcel_drop(parcel);
    return false;
}

void forward_to(struct shard *shard, uint64_t connection, struct parcel *parcel) {
    hand_over(shard, connection, parcel, MAIL_DELIVERY_PLAIN);
}

bool forward_event_remote(struct shard *shard, uint64_t link, struct parcel *parcel) {
    return hand_over(shard, link, parcel, MAIL_DELIVERY_EVENT_REMOTE);
}

struct parcel *forward_without_id(struct shard *shard, const struct message *message) {
    if (!lookup_has(&message->lookup, KEY_ID))
        return parcel_forward(&shard->parcels, message->frame);
    struct span member = lookup_id_member(&message->lookup, message->body);
    struct parcel *parcel = parcel_create_with_holes(&shard->parcels, message->frame, &member, 1);
    if (parcel && !parcel_fill(parcel, &(struct piece){"", 0})) {
        parcel_drop(parcel);
        parcel = NULL;
    }
    return parcel;
}

// Returns the registrant of the receiver: of an agent of this hub, or of the link.
static struct registrant *registrant_of(struct shard *shard, const struct agent *agent) {
    return agent ? agent->registrant : &shard->remote_link.registrant;
}

static void refuse_journal(struct shard *shard, const struct message *message, const struct agent *agent) {
    if (agent)
        refuse_at(shard, message, agent, ERROR_AUDIT);
    else
        refuse(shard, message, ERROR_AUDIT, NULL);
}

// Puts the head for other hubs before the parcel. Returns false if the message was refused.
static bool address(struct shard *shard, const struct message *message, struct parcel *parcel,
                    const struct remote_target *to, uint64_t hub_id, uint32_t time_ms) {
    uint64_t bytes = 0;
    enum error error = remote_target_address(shard, message, parcel, to, hub_id, time_ms, &bytes);
    if (error == ERROR_NONE)
        return true;
    struct text data;
    text_init(&data);
    if (error == ERROR_FRAME_TOO_LARGE)
        remote_target_put_sizes(shard, &data, bytes);
    refuse(shard, message, error, &data);
    return false;
}

void forward_notification(struct shard *shard, const struct message *message, struct agent *agent,
                          const struct remote_target *to) {
    struct parcel *parcel = forward_without_id(shard, message);
    uint64_t target = registrant_of(shard, agent)->connection;
    assert(!message_is_request(message) && !agent == !!to);
    if (!parcel) {
        drop_one(shard, COUNT_DROP_NO_MEMORY, target, message->frame->body.bytes);
        return;
    }
    if (to && !address(shard, message, parcel, to, 0, 0)) {
        parcel_drop(parcel);
        return;
    }
    if (!audit_approval(shard, message, agent, NULL)) {
        parcel_drop(parcel);
        refuse_journal(shard, message, agent);
        return;
    }
    parcel->lane = (uint8_t)message_lane(message);
    stats_count(&shard->stats, COUNT_NOTIFICATIONS_FORWARDED);
    feature_notification_forwarded(shard, message, agent, parcel);
    forward_deliver(shard, target, parcel, MAIL_DELIVERY_PLAIN);
}

// Values that are spliced into a request: the hub's id for the source's, and the hub's tokens for its tokens.
struct splices {
    struct span values[PARCEL_HOLES_MAX]; // of the body, in rising order
    struct piece texts[PARCEL_HOLES_MAX];
    unsigned count;
    char written[PARCEL_HOLES_MAX][HUB_ID_DIGITS_MAX + 4];
};

static void add_splice(struct splices *splices, struct span value, size_t bytes) {
    assert(splices->count < PARCEL_HOLES_MAX && bytes <= sizeof splices->written[0]);
    unsigned at = splices->count++;
    struct piece text = {splices->written[at], bytes};
    for (; at > 0 && splices->values[at - 1].at > value.at; at--) {
        splices->values[at] = splices->values[at - 1];
        splices->texts[at] = splices->texts[at - 1];
    }
    splices->values[at] = value;
    splices->texts[at] = text;
}

static struct parcel *parcel_with_splices(struct shard *shard, const struct message *message,
                                          const struct progress_tokens *tokens, uint64_t hub_id) {
    struct splices splices;
    splices.count = 0;
    add_splice(&splices, message->lookup.value[KEY_ID], text_digits(splices.written[0], hub_id));
    for (unsigned kind = 0; tokens->count && kind < TOKENS_COUNT; kind++) {
        if (tokens->values[kind].bytes)
            add_splice(&splices, tokens->values[kind],
                       progress_token(splices.written[splices.count], hub_id, (enum pending_token)kind));
    }
    struct parcel *parcel =
        parcel_create_with_holes(&shard->parcels, message->frame, splices.values, splices.count);
    if (parcel && !parcel_fill(parcel, splices.texts)) {
        parcel_drop(parcel);
        parcel = NULL;
    }
    return parcel;
}

static bool save_tokens(struct shard *shard, struct pending *pending, const struct message *message,
                        const struct progress_tokens *tokens) {
    const void *texts[TOKENS_COUNT];
    uint32_t bytes[TOKENS_COUNT];
    if (__builtin_expect(tokens->count == 0, true))
        return true;
    for (unsigned kind = 0; kind < TOKENS_COUNT; kind++) {
        texts[kind] = message->body + tokens->values[kind].at;
        bytes[kind] = tokens->values[kind].bytes;
    }
    return pending_keep_tokens(&shard->pending, pending, texts, bytes);
}

// Copies the method into the pending request, for lists and logs. Copies a fixed number of bytes, since that costs
// less.
static void describe(struct shard *shard, struct pending *pending, const struct message *message,
                     const struct agent *agent) {
    static_assert(sizeof message->method >= sizeof pending->method, "it is copied whole");
    size_t method_bytes = message->method_bytes;
    pending->asked_ns = io_now(shard->io);
    pending->latency = agent ? latency_begin(&shard->quota, agent->latency, shard->index) : NULL;
    pending->user = message->origin ? message->origin->user : identity_user(message->peer);
    pending->body_bytes = message->frame->body.bytes;
    memcpy(pending->method, message->method, sizeof pending->method);
    if (__builtin_expect(message->method_long, false))
        method_bytes = message_method_begin(message, pending->method, sizeof pending->method);
    else if (__builtin_expect(method_bytes > sizeof pending->method, false))
        method_bytes = json_cut_at_character(message->method, method_bytes, sizeof pending->method);
    pending->method_bytes = (uint8_t)method_bytes;
}

static void bind(struct shard *shard, struct pending *pending, const struct message *message,
                 const struct agent *agent, const struct request_time *time) {
    struct registrant *registrant = registrant_of(shard, agent);
    assert(pending->used && !timer_armed(&pending->timer));
    assert(list_empty(&pending->by_source) && list_empty(&pending->by_target));
    pending->source = message->peer->connection_id;
    pending->exchange = message->exchange;
    if (pending->exchange)
        pending->exchange->hub_id = pending_hub_id(&shard->pending, pending);
    pending->target = registrant->connection;
    // One store of both: the read before a store of one alone would wait for the line.
    pending->agent = agent ? agent->tag & ((1u << AGENT_TAG_BITS) - 1) : 0;
    pending->level = (unsigned)message->frame->unit->directives.governance & 15u;
    describe(shard, pending, message, agent);
    request_index_add(&message->peer->request_index, pending);
    list_append(&registrant->pending, &pending->by_target);
    request_timeout_begin(shard, pending, time);
    hub_pending_add(shard->hub, registrant->connection, 1);
}

// Enters a request into the table. Returns NULL if the table has no room and the request was refused.
static struct pending *forward_enter(struct shard *shard, const struct message *message,
                                     const struct agent *agent, const struct remote_target *to,
                                     const struct progress_tokens *tokens) {
    struct reply_to answer = message_reply_to(message);
    assert(message_is_request(message));
    bool within_share = quota_is_fair(&shard->quota, message->peer->request_index.quota_bytes);
    struct pending *pending = within_share ? pending_add(&shard->pending, answer.id, answer.id_bytes) : NULL;
    if (pending && save_tokens(shard, pending, message, tokens) &&
        (!to || error_target_save(&shard->pending, pending, to->kind, to->token, to->bytes)))
        return pending;
    if (pending)
        pending_end(&shard->pending, pending);
    refuse_without_quota(shard, message, agent);
    return NULL;
}

// Counts the request as pending for its user. Returns false if the user is at its limit and the request was refused. A
// request from another hub counts at that hub.
static bool forward_account(struct shard *shard, const struct message *message, struct account **account) {
    const struct user *user = message->origin ? NULL : identity_user(message->peer);
    if (__builtin_expect(!user, true))
        return true;
    if ((message->retry && message_copy_take_place(message, user->account)) ||
        account_lease_begin_pending(&shard->account_leases, user->account, &users_rights(user)->limits)) {
        *account = user->account;
        return true;
    }
    refuse_limit(shard, message, LIMIT_PENDING, 0);
    return false;
}

static void give_back(struct shard *shard, struct account *account) {
    if (account)
        account_lease_end_pending(&shard->account_leases, account);
}

// Removes a request from the table that could not be forwarded and was refused.
static void withdraw(struct shard *shard, struct pending *pending, struct parcel *parcel,
                     struct account *account) {
    if (parcel)
        parcel_drop(parcel);
    if (pending->copy)
        message_copy_drop(shard, pending->copy);
    pending->copy = NULL;
    pending_end(&shard->pending, pending);
    give_back(shard, account);
}

// Refuses a request since the hub, and not the target, is out of memory.
static void refuse_without_memory(struct shard *shard, const struct message *message,
                                  const struct agent *agent) {
    struct text data;
    text_init(&data);
    if (agent)
        reply_data_string(&data, "agent", agent->id, agent->id_bytes);
    reply_data_text(&data, "fault", "there is no memory for the request");
    refuse(shard, message, ERROR_OVERLOADED, &data);
}

// Saves a copy of a request that may be sent once more. Returns false without memory.
static bool save_copy(struct shard *shard, const struct message *message, struct pending *pending,
                      const struct remote_target *to) {
    if (!remote_target_keeps(shard, to))
        return true;
    pending_mark_rare(pending);
    pending->copy = message_copy_create(shard, message);
    if (!pending->copy)
        return false;
    pending->copy->is_first = to->is_first;
    pending->copy->first_over = message->retry && message->retry->first_over;
    pending->copy->is_former = to->is_former;
    return true;
}

// Makes the parcel of a pending request. Returns NULL if there is none: the message is refused then, and the request
// withdrawn.
static struct parcel *make_request(struct shard *shard, const struct message *message,
                                   const struct agent *agent, const struct remote_target *to,
                                   struct pending *pending, const struct progress_tokens *tokens,
                                   struct account *account, uint32_t time_ms) {
    uint64_t hub_id = pending_hub_id(&shard->pending, pending);
    struct parcel *parcel = parcel_with_splices(shard, message, tokens, hub_id);
    assert(hub_id_shard(hub_id) == shard->index);
    if (parcel && to && !address(shard, message, parcel, to, hub_id, time_ms)) {
        withdraw(shard, pending, parcel, account);
        return NULL;
    }
    if (parcel && (!to || save_copy(shard, message, pending, to)) &&
        audit_approval(shard, message, agent, pending))
        return parcel;
    bool lacks_memory = !parcel || (to && remote_target_keeps(shard, to) && !pending->copy);
    withdraw(shard, pending, parcel, account);
    if (lacks_memory)
        refuse_without_memory(shard, message, agent);
    else
        refuse_journal(shard, message, agent);
    return NULL;
}

// Packs a request that no feature watches, if its target, or the link to other hubs, is on this shard. Returns false if
// the request must be sent as a parcel.
static bool pack_request(struct shard *shard, const struct message *message, const struct agent *agent,
                         const struct remote_target *to, struct pending *pending, uint32_t time_ms) {
    uint64_t target = registrant_of(shard, agent)->connection;
    assert(message_is_request(message) && pending->used && !pending->has_rare);
    if (!pack_takes(message->frame) || connection_shard(target) != shard->index ||
        message->audit != MESSAGE_PLAIN || message_lane(message) != LANE_NORMAL)
        return false;
    struct peer *peer = peer_find(shard, target);
    if (!(to ? !message->frame->added && !remote_target_keeps(shard, to) && send_may_pack(shard, peer)
             : send_may_pack_framed(shard, peer)))
        return false;
    char digits[HUB_ID_DIGITS_MAX + 4];
    uint64_t hub_id = pending_hub_id(&shard->pending, pending);
    struct piece text = {digits, text_digits(digits, hub_id)};
    if (!to)
        return send_pack(shard, peer, message->frame, message->lookup.value[KEY_ID], text, hub_id, NULL);
    return remote_target_pack(shard, peer, message, to, text, hub_id, time_ms);
}

void forward_request(struct shard *shard, const struct message *message, struct agent *agent,
                     const struct remote_target *to) {
    struct progress_tokens tokens;
    struct account *account = NULL;
    assert(!agent == !!to);
    bool is_watched = false;
    feature_before_request(shard, message, agent, &is_watched);
    if (agent && __builtin_expect(agent->registrant->leaving, false)) {
        refuse_at(shard, message, agent, ERROR_TARGET_DISCONNECTED);
        return;
    }
    if (!progress_read(shard, message, &tokens) || !forward_account(shard, message, &account))
        return;
    struct pending *pending = forward_enter(shard, message, agent, to, &tokens);
    if (!pending) {
        give_back(shard, account);
        return;
    }
    struct request_time time = request_timeout_of(shard, message, tokens.count > 0);
    struct parcel *parcel = NULL;
    bool is_packed =
        !tokens.count && !is_watched && pack_request(shard, message, agent, to, pending, time.whole_ms);
    if (!is_packed)
        parcel = make_request(shard, message, agent, to, pending, &tokens, account, time.whole_ms);
    if (!is_packed && !parcel)
        return;
    bind(shard, pending, message, agent, &time);
    if (to && to->supports_less)
        pending->less = true;
    pending->account = account;
    stats_add(&shard->stats, COUNT_REQUESTS_FORWARDED, !message->retry);
    if (is_packed)
        return;
    parcel->hub_id = pending_hub_id(&shard->pending, pending);
    parcel->lane = (uint8_t)message_lane(message);
    feature_request_began(shard, message, agent, pending, parcel);
    forward_deliver(shard, pending->target, parcel, MAIL_DELIVERY_PLAIN);
}

// --- Responses

// Returns the hub id of a response, or 0.
static uint64_t response_hub_id(const struct shard *shard, const struct message *message) {
    uint64_t hub_id = 0;
    const struct lookup *lookup = &message->lookup;
    if (!lookup_has(lookup, KEY_ID) || lookup->type[KEY_ID] != JSON_NUMBER ||
        !json_number_whole(message->body, lookup->value[KEY_ID], &hub_id) ||
        hub_id_shard(hub_id) >= shard->hub->start_settings.shard_count)
        return 0;
    return hub_id;
}

static bool response_usable(const struct shard *shard, const struct message *message) {
    const struct directives *directives = &message->frame->unit->directives;
    return message->lookup.verdict == LOOKUP_GOOD && validate_response(shard, message) &&
           !directives_is_bad(directives);
}

static void hand_to_source(struct shard *shard, uint64_t hub_id, struct parcel *parcel, uint64_t from,
                           bool usable) {
    uint32_t to = hub_id_shard(hub_id);
    assert(to < shard->hub->start_settings.shard_count && parcel->hole_count == 1);
    if (to != shard->index) {
        parcel->hub_id = hub_id;
        parcel->mail.kind = usable ? MAIL_RESPONSE : MAIL_BROKEN;
        parcel->mail.connection = from;
        mailbox_post(hub_mailbox(shard->hub, shard->index, to), &parcel->mail);
    } else if (usable) {
        completion_deliver(shard, hub_id, from, parcel);
    } else {
        parcel_drop(parcel);
        completion_broken(shard, hub_id, from);
    }
}

bool responses_is(const struct shard *shard, const struct message *message) {
    if (message->lookup.kind == BODY_RESPONSE)
        return true;
    bool is_expected = shard->settings->strict && response_hub_id(shard, message) &&
                       hub_pending(shard->hub, message->peer->connection_id);
    return validate_is_response(shard, message, is_expected);
}

void responses_route(struct shard *shard, const struct message *message) {
    stats_count(&shard->stats, COUNT_RESPONSES_RECEIVED);
    if (__builtin_expect(shard->settings->users != NULL, false))
        authn_charge(shard, message->peer, message->frame->body.bytes);
    bool usable = response_usable(shard, message);
    if (!usable)
        drop_one(shard, COUNT_DROP_RESPONSE_BROKEN, message->peer->connection_id, message->frame->body.bytes);
    uint64_t hub_id = response_hub_id(shard, message);
    if (!hub_id) {
        drop_one(shard, COUNT_DROP_RESPONSE_UNKNOWN, message->peer->connection_id,
                 message->frame->body.bytes);
        return;
    }
    if (hub_id_shard(hub_id) == shard->index) {
        pending_fetch(&shard->pending, hub_id);
        if (usable && completion_pack(shard, hub_id, message->peer->connection_id, message->frame,
                                      message->lookup.value[KEY_ID], message_is_error(message)))
            return;
    }
    struct parcel *parcel =
        parcel_create_response(&shard->parcels, message->frame, &message->lookup.value[KEY_ID]);
    if (parcel) {
        parcel->mail.detail = message_is_error(message) ? ANSWER_ERROR : 0;
        parcel->body = message->frame->body;
    }
    if (parcel)
        hand_to_source(shard, hub_id, parcel, message->peer->connection_id, usable);
    else // what it owes ends when the connection goes
        peer_close(shard, message->peer, COUNT_CLOSED_NO_MEMORY);
}

void responses_end(struct shard *shard, struct peer *peer, const struct frame *frame, struct span id,
                   uint64_t hub_id, uint8_t detail) {
    assert(hub_id_shard(hub_id) < shard->hub->start_settings.shard_count);
    struct parcel *parcel = parcel_create_response(&shard->parcels, frame, &id);
    if (!parcel) {
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
        return;
    }
    parcel->mail.detail = detail;
    parcel->body = frame->body;
    hand_to_source(shard, hub_id, parcel, peer->connection_id, true);
}

bool responses_deliver(struct shard *shard, struct peer *link, const struct frame *frame, uint64_t hub_id) {
    struct message message;
    uint64_t id = 0;
    message_begin(&message, link, NULL);
    validate_look_up(shard, &message, frame);
    const struct lookup *lookup = &message.lookup;
    bool has_id =
        lookup->kind == BODY_RESPONSE && lookup->verdict == LOOKUP_GOOD && lookup_has(lookup, KEY_ID);
    // A hub answers a request that it can't read without an id: the subject tells the request.
    bool is_its =
        has_id && (lookup->type[KEY_ID] == JSON_NULL
                       ? message_is_error(&message)
                       : lookup->type[KEY_ID] == JSON_NUMBER &&
                             json_number_whole(message.body, lookup->value[KEY_ID], &id) && id == hub_id);
    if (!is_its || !response_usable(shard, &message))
        return false;
    stats_count(&shard->stats, COUNT_RESPONSES_RECEIVED);
    if (hub_id_shard(hub_id) == shard->index &&
        completion_pack(shard, hub_id, link->connection_id, frame, lookup->value[KEY_ID],
                        message_is_error(&message)))
        return true;
    responses_end(shard, link, frame, lookup->value[KEY_ID], hub_id,
                  message_is_error(&message) ? ANSWER_ERROR : 0);
    return true;
}
