#include "router/routing/route.h"

#include <assert.h>
#include <string.h>

#include "core/agents/rules.h"
#include "core/json/json.h"
#include "core/send/parcel.h"
#include "core/wire/field.h"
#include "router/engine/message/message.h"
#include "router/engine/message/message_copy.h"
#include "router/engine/request/refuse.h"
#include "router/engine/request/validate.h"
#include "router/engine/send/exchange.h"
#include "router/engine/shard/feature_call.h"
#include "router/engine/shard/probe.h"
#include "router/events/events.h"
#include "router/events/notify_fanout.h"
#include "router/forwarding/forward.h"
#include "router/forwarding/progress.h"
#include "router/methods/methods.h"
#include "router/rights/authn.h"
#include "router/rights/authz.h"
#include "router/rights/authz_cache.h"
#include "router/routing/remote_attach.h"

// --- Batches

// Begins to walk over the members of a batch.
static void batch_walk(struct json_walk *walk, const struct message *batch) {
    uint32_t bytes = batch->frame->body.bytes, at = json_skip_space(batch->body, 0, bytes);
    json_walk_begin(walk, batch->body, (struct span){at, bytes - at});
}

// Counts the members of a batch, up to `max` + 1.
static uint32_t count_members(const struct message *batch, uint32_t max) {
    struct json_walk walk;
    uint32_t count = 0;
    batch_walk(&walk, batch);
    for (struct json_item item; count <= max && json_next(&walk, &item) == JSON_ITEM;)
        count++;
    return count;
}

// Returns whether the whole batch is JSON. If not, sets the verdict of its lookup.
static bool check_batch(struct message *batch) {
    bool too_deep;
    if (json_valid(batch->body, batch->frame->body.bytes))
        return true;
    batch->lookup.fault_at = json_grammar_fault(batch->body, batch->frame->body.bytes, &too_deep);
    assert(too_deep || batch->lookup.fault_at <= batch->frame->body.bytes);
    batch->lookup.verdict = too_deep ? LOOKUP_TOO_DEEP : LOOKUP_NOT_JSON;
    return false;
}

// Refuses a batch as a whole if it isn't JSON, is empty, or has more members than the limit. Returns whether it was
// refused.
static bool batch_refuse(struct shard *shard, struct message *batch) {
    uint32_t max = shard_limits(shard)->batch_members_max;
    bool is_json = shard->settings->strict || check_batch(batch);
    uint32_t count = is_json ? count_members(batch, max) : 0;
    if (count > 0 && count <= max)
        return false;
    if (batch->exchange)
        exchange_expect(batch->exchange);
    if (shard->settings->users)
        authn_charge(shard, batch->peer, batch->frame->body.bytes);
    if (is_json)
        refuse_batch_size(shard, batch);
    else
        refuse_body(shard, batch);
    return true;
}

// --- The user's header

// With a users file the hub alone writes Patchbay-User. Fields of that name from a sender are removed.

static bool is_name_of_user(const uint8_t *block, struct span name) {
    static const char lower[] = "patchbay-user";
    return field_is(block + name.at, name.bytes, lower, sizeof lower - 1);
}

// Copies the other lines of a header block. Returns their length.
static uint32_t copy_lines(const uint8_t *block, uint8_t *out, struct unit *unit) {
    uint32_t at = 0, to = 0, length_line_at = unit->length_line_at;
    assert(unit->body_at >= 2);
    for (struct field_line line; field_line_next(block, &at, unit->body_at, &line);) {
        if (is_name_of_user(block, line.name))
            continue;
        if (line.line.at == length_line_at)
            unit->length_line_at = to;
        memcpy(out + to, block + line.line.at, line.line.bytes);
        to += line.line.bytes;
    }
    memcpy(out + to, "\r\n", 2);
    return to + 2;
}

struct buffer *user_header_strip(struct buffer_pool *pool, const struct frame *frame, struct unit *unit,
                                 struct frame *out) {
    struct buffer *buffer = buffer_take_sized(pool, frame->unit->bytes);
    assert(frame->unit->names_user && frame->unit->length_line_bytes > 0);
    if (!buffer)
        return NULL;
    *unit = *frame->unit;
    unit->body_at = copy_lines(frame->buffer->bytes + frame->at, buffer->bytes, unit);
    unit->bytes = unit->body_at + unit->body_bytes;
    unit->names_user = false;
    memcpy(buffer->bytes + unit->body_at, frame_body(frame), unit->body_bytes);
    *out = frame_at(buffer, 0, unit);
    return buffer;
}

// --- Requests and notifications

// Forwards a command to a hermes child as a notification. Such a child answers no command, so the hub answers.
static void route_command(struct shard *shard, const struct message *message, struct agent *agent) {
    assert(agent->hermes && message_is_request(message));
    struct message notification = *message;
    notification.lookup.kind = BODY_NOTIFICATION;
    forward_notification(shard, &notification, agent, NULL);
    feature_request_answered(shard, message, agent);
    reply_result(shard, message->peer, message_reply_to(message), "null", 4);
}

// Refuses a message for which the rules have found no agent. An entry for the journal needs no agent: the hub has it.
static void refuse_without_agent(struct shard *shard, const struct message *message,
                                 const struct rules_message *criteria, const struct rules_verdict *verdict) {
    if (verdict->error != ERROR_METHOD_NOT_FOUND || !message_is_logged(message))
        refuse_route(shard, message, criteria, verdict);
}

// Forwards a message to an agent that can take it now.
static void forward_by_kind(struct shard *shard, const struct message *message,
                            const struct rules_message *criteria, struct agent *agent) {
    if (!message_is_request(message))
        forward_notification(shard, message, agent, NULL);
    else if (agent->hermes && rules_is_command(criteria))
        route_command(shard, message, agent);
    else
        forward_request(shard, message, agent, NULL);
}

// Sends a message to the one agent that the rules choose, or refuses it. Features come first: they may take a message
// for which this hub has no agent of its own, and may hold a message back from the agent.
static void route_to(struct shard *shard, const struct message *message, const struct route_query *query) {
    const struct rules_message *criteria = &query->criteria;
    struct rules_verdict verdict = rules_route(&shard->agents, criteria, hub_pending, shard->hub);
    assert(verdict.error || verdict.agent);
    if ((verdict.error || verdict.stands_in) && !message->peer->transport->is_attached &&
        feature_no_target(shard, message, criteria, &verdict))
        return;
    if (verdict.error) {
        refuse_without_agent(shard, message, criteria, &verdict);
        return;
    }
    struct agent *agent =
        verdict.agent->pool_bytes ? feature_choose(shard, message->peer, verdict.agent) : verdict.agent;
    enum error fault = forward_fault(shard, message, agent->registrant->connection);
    if (feature_before_forward(shard, message, agent))
        return;
    if (fault)
        refuse_at(shard, message, agent, fault);
    else
        forward_by_kind(shard, message, criteria, agent);
}

static void route_by_rules(struct shard *shard, const struct message *message,
                           const struct route_query *query) {
    if (feature_before_route(shard, message, &query->criteria))
        return;
    if (rules_is_event(&query->criteria)) {
        events_publish(shard, message);
        return;
    }
    events_flush(shard);
    if (query->named || !notify_fanout_route(shard, message))
        route_to(shard, message, query);
}

static __attribute__((noinline)) bool authorize_slow(struct shard *shard, const struct message *message,
                                                     struct route_query *query) {
    if (message_method_is(message, "event") && !events_may_publish(shard, message))
        return false;
    if (rules_is_event(&query->criteria))
        return true;
    return authz_call(shard, message, &query->criteria) && authz_log(shard, message);
}

// Checks the rights for the message's method and target, whether the target exists or not.
static bool authorize(struct shard *shard, const struct message *message, struct route_query *query) {
    return !shard->settings->users || authorize_slow(shard, message, query);
}

static __attribute__((noinline)) bool authorize_and_cache(struct shard *shard, const struct message *message,
                                                          struct route_query *query) {
    if (!authorize_slow(shard, message, query))
        return false;
    if (!message->origin && methods_is_agents(shard, message))
        authz_cache_keep_plain(identity_of(message->peer), message);
    return true;
}

// Does the same for a message that has just arrived. Mostly an equal message was allowed before (message.again).
static inline bool authorize_cached(struct shard *shard, const struct message *message,
                                    struct route_query *query) {
    if (__builtin_expect(!shard->settings->users, true))
        return true;
    if (!message->again)
        return authorize_and_cache(shard, message, query);
    authz_restore(message, &query->criteria);
    return true;
}

// Routes a message that the hub doesn't answer itself.
static void route_others(struct shard *shard, struct message *message) {
    struct route_query query;
    if (message_method_is(message, "hub/attach")) {
        remote_attach_route(shard, message);
        return;
    }
    route_query_read(message, &query);
    if ((!query.named && progress_route(shard, message)) || !authorize_cached(shard, message, &query))
        return;
    if (message_is_request(message) && shard->phase != HUB_SERVING)
        refuse_for(shard, message, ERROR_OVERLOADED, refuse_hub_ends);
    else if (!feature_refuse_call(shard, message))
        route_by_rules(shard, message, &query);
}

// Checks that sourceAgent is still an agent of the message's sender.
static bool may_name_source(struct shard *shard, const struct message *message) {
    return !(shard->settings->users ? authn_refuse_source(shard, message)
                                    : validate_refuse_source(shard, message));
}

// Routes a message with a target that its transport has set. The method is never the hub's, and the message isn't for
// many.
static void route_to_one(struct shard *shard, const struct message *message,
                         const struct route_query *query) {
    assert(message->peer->transport->is_attached && query->criteria.target.is_present);
    if (!feature_before_route(shard, message, &query->criteria))
        route_to(shard, message, query);
}

void route_attached(struct shard *shard, struct message *message) {
    struct route_query query;
    assert(message->lookup.verdict == LOOKUP_GOOD && message_attachment(message));
    events_flush(shard);
    if (message->exchange && message_is_request(message))
        exchange_expect(message->exchange);
    stats_count(&shard->stats,
                message_is_request(message) ? COUNT_REQUESTS_RECEIVED : COUNT_NOTIFICATIONS_RECEIVED);
    if ((shard->settings->users && authn_refuse(shard, message)) || refuse_header(shard, message))
        return;
    route_query_read(message, &query);
    if (!message_is_request(message) && progress_route(shard, message))
        return;
    if (!authorize(shard, message, &query))
        return;
    if (message_is_request(message) && shard->phase != HUB_SERVING)
        refuse_for(shard, message, ERROR_OVERLOADED, refuse_hub_ends);
    else
        route_to_one(shard, message, &query);
}

// Checks again what may have changed while the message was held: sourceAgent and rights.
void route_approved(struct shard *shard, struct message *message) {
    struct route_query query;
    assert(message->approved && message->lookup.verdict == LOOKUP_GOOD && !shard->event_run.count);
    route_query_read_method(message);
    route_query_read(message, &query);
    if (!may_name_source(shard, message) || !authorize(shard, message, &query))
        return;
    if (message->peer->transport->is_attached)
        route_to_one(shard, message, &query);
    else
        route_by_rules(shard, message, &query);
    events_flush(shard);
}

void route_retry(struct shard *shard, struct message *message) {
    struct route_query query;
    assert(message->retry && message->lookup.verdict == LOOKUP_GOOD && !shard->event_run.count);
    route_query_read_method(message);
    route_query_read(message, &query);
    if (authorize(shard, message, &query))
        route_by_rules(shard, message, &query);
}

// Returns the cached call that equals the message and for which method and target decide alone; or NULL.
static inline __attribute__((always_inline)) const struct authz_cache_call *
find_cached(const struct message *message) {
    const struct authz_cache_call *cached = authz_cache_call(identity_required(message->peer), message);
    return cached && cached->plain ? cached : NULL;
}

static void route_call(struct shard *shard, struct message *message) {
    assert(message->lookup.verdict == LOOKUP_GOOD);
    if (__builtin_expect(shard->settings->users != NULL, false))
        message->again = find_cached(message);
    route_query_read_method(message);
    if (!message_method_is(message, "event"))
        events_flush(shard);
    stats_count(&shard->stats,
                message_is_request(message) ? COUNT_REQUESTS_RECEIVED : COUNT_NOTIFICATIONS_RECEIVED);
    if (__builtin_expect(shard->settings->users != NULL, false) && authn_refuse(shard, message))
        return;
    bool passes = message->again && methods_may_skip(shard, message->peer);
    if (!refuse_header(shard, message) && (passes || !methods_answer(shard, message)))
        route_others(shard, message);
}

// --- All

// Returns the user of a connection with a credential of its own before its first message. The user is found when that
// message is checked, which comes after the user header is set.
static __attribute__((noinline)) const struct user *find_header_user(const struct shard *shard,
                                                                     const struct peer *peer) {
    enum credential_kind kind;
    const struct identity *identity = identity_of(peer);
    return identity && identity->kind != CREDENTIAL_CHILD ? peer_credential_user(shard, peer, &kind) : NULL;
}

static inline __attribute__((always_inline)) void
set_user_header(const struct shard *shard, const struct peer *peer, struct frame *frame) {
    const struct user *user = identity_required(peer)->user;
    assert(shard->settings->users);
    if (__builtin_expect(!user, false))
        user = find_header_user(shard, peer);
    frame->added = user ? &user->header : NULL;
}

struct frame route_set_user_header(const struct shard *shard, const struct peer *peer,
                                   const struct frame *frame) {
    struct frame named_frame = *frame;
    named_frame.added = NULL;
    if (shard->settings->users)
        set_user_header(shard, peer, &named_frame);
    return named_frame;
}

static void refuse_unread(struct shard *shard, const struct message *message) {
    if (shard->settings->users)
        authn_charge(shard, message->peer, message->frame->body.bytes);
    refuse_body(shard, message);
}

// Routes a message, alone or of a batch. Notes first that its exchange must get an answer.
static void route_message(struct shard *shard, struct message *message) {
    assert(message->peer->state == PEER_OPEN);
    bool is_call = message->lookup.kind == BODY_REQUEST || message->lookup.kind == BODY_NOTIFICATION;
    bool is_valid = message->lookup.verdict == LOOKUP_GOOD && is_call;
    if (message->lookup.kind != BODY_NOTIFICATION)
        events_flush(shard);
    PROBE(route, message->peer->connection_id, message->frame->body.bytes, message->lookup.kind);
    if (!message->origin && responses_is(shard, message)) {
        responses_route(shard, message);
        return;
    }
    if (message->exchange && (!is_valid || message_is_request(message)))
        exchange_expect(message->exchange);
    if (is_valid)
        route_call(shard, message);
    else if (message->lookup.kind == BODY_STREAM && message->lookup.verdict == LOOKUP_GOOD &&
             !message->exchange && feature_take_stream(shard, message))
        return;
    else
        refuse_unread(shard, message);
}

static bool take_member(struct shard *shard, struct peer *peer, const struct frame *frame,
                        struct exchange *exchange) {
    const struct transport *transport = peer->transport;
    return transport->codec.member && transport->codec.member(shard, peer, frame, exchange);
}

static void route_member(struct shard *shard, struct peer *peer, const struct frame *frame,
                         struct exchange *exchange) {
    struct message message;
    message_begin(&message, peer, exchange);
    validate_look_up(shard, &message, frame);
    route_message(shard, &message);
}

// Routes the members of a batch. A member that closes the connection is the last one.
static void route_members(struct shard *shard, const struct message *batch, struct exchange *exchange) {
    struct json_walk walk;
    uint32_t count = 0;
    batch_walk(&walk, batch);
    for (struct json_item item; batch->peer->state == PEER_OPEN && json_next(&walk, &item) == JSON_ITEM;) {
        if (count++ == UNAUTHENTICATED_MEMBERS_MAX && shard->settings->users &&
            identity_is_unauthenticated(batch->peer)) {
            refuse_batch_rest(shard, batch, exchange);
            return;
        }
        struct frame frame = route_set_user_header(
            shard, batch->peer, batch->frame); // the user may be known since the member before
        assert(item.value.at + item.value.bytes <= batch->frame->body.bytes);
        frame.body = (struct span){batch->frame->body.at + item.value.at, item.value.bytes};
        if (!take_member(shard, batch->peer, &frame, exchange))
            route_member(shard, batch->peer, &frame, exchange);
    }
}

// Ends the connection if a member of the batch was exit. Called when all members have been routed.
static void end_batch(struct shard *shard, struct peer *peer, const struct exchange *exchange) {
    assert(exchange->is_array);
    if (exchange->exits && peer->state == PEER_OPEN)
        peer_linger(shard, peer);
}

static void route_batch(struct shard *shard, struct message *batch) {
    assert(batch->lookup.verdict == LOOKUP_GOOD);
    stats_count(&shard->stats, COUNT_BATCHES_RECEIVED);
    if (batch_refuse(shard, batch))
        return;
    struct exchange *exchange = batch->exchange ? batch->exchange : exchange_open(shard, batch->peer);
    if (!exchange) {
        peer_close(shard, batch->peer, COUNT_CLOSED_NO_MEMORY);
        return;
    }
    exchange->is_array = true;
    route_members(shard, batch, exchange);
    if (batch->exchange)
        return;
    end_batch(shard, batch->peer, exchange);
    exchange_close(shard, exchange);
}

static inline __attribute__((always_inline)) void route_looked_up(struct shard *shard, struct peer *peer,
                                                                  const struct frame *frame,
                                                                  struct exchange *exchange) {
    struct message message;
    message_begin(&message, peer, exchange);
    validate_look_up(shard, &message, frame);
    // The two fields are tested apart (with likely): they were just written one by one, and a joined read would stall.
    if (__builtin_expect(message.lookup.kind == BODY_BATCH, false) && message.lookup.verdict == LOOKUP_GOOD)
        route_batch(shard, &message);
    else
        route_message(shard, &message);
}

// Routes a frame with a Patchbay-User of its sender, without that field.
static __attribute__((noinline)) void route_without_user_header(struct shard *shard, struct peer *peer,
                                                                const struct frame *frame,
                                                                struct exchange *exchange) {
    struct unit unit;
    struct frame copy;
    assert(frame->unit->names_user);
    struct buffer *buffer = user_header_strip(&shard->buffers, frame, &unit, &copy);
    if (!buffer) {
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
        return;
    }
    peer_erase(peer, frame->buffer->bytes + frame->body.at, frame->body.bytes); // the copy goes on
    route_frame(shard, peer, &copy, exchange);
    events_flush(shard);
    buffer_drop(buffer);
}

void route_frame(struct shard *shard, struct peer *peer, struct frame *frame, struct exchange *exchange) {
    assert(connection_shard(peer->connection_id) == shard->index);
    if (__builtin_expect(shard->settings->users != NULL, false)) {
        if (frame->unit->names_user) {
            route_without_user_header(shard, peer, frame, exchange);
            return;
        }
        set_user_header(shard, peer, frame);
    }
    route_looked_up(shard, peer, frame, exchange);
}

// Routes a message from another hub. With a users file the link's peer speaks for the message's user.
static void route_with_origin(struct shard *shard, struct peer *link, struct frame *frame,
                              struct exchange *exchange, const struct origin *origin) {
    struct message message;
    assert(connection_shard(link->connection_id) == shard->index);
    if (shard->settings->users)
        set_user_header(shard, link, frame);
    message_begin(&message, link, exchange);
    message.origin = origin;
    validate_look_up(shard, &message, frame);
    route_message(shard, &message);
}

void route_remote(struct shard *shard, struct peer *link, struct frame *frame, struct exchange *exchange,
                  const struct origin *origin) {
    struct unit unit;
    struct frame copy;
    if (!shard->settings->users || !frame->unit->names_user) {
        route_with_origin(shard, link, frame, exchange, origin);
        return;
    }
    struct buffer *buffer = user_header_strip(&shard->buffers, frame, &unit, &copy);
    if (!buffer) {
        peer_close(shard, link, COUNT_CLOSED_NO_MEMORY);
        return;
    }
    route_with_origin(shard, link, &copy, exchange, origin);
    buffer_drop(buffer);
}

// --- The query to the rules

// Copies a method that equals a cached one, in whole blocks. A block may reach behind the body.
static inline void copy_method(struct message *message, struct span method) {
    enum { BLOCK = AUTHZ_CACHE_BLOCK_BYTES };
    const uint8_t *text = message->body + method.at + 1;
    static_assert((int)AUTHZ_CACHE_TEXT_BYTES_MAX <= (int)METHOD_BYTES_MAX, "what is kept fits");
    static_assert((int)AUTHZ_CACHE_TEXT_BYTES_MAX == 2 * BLOCK, "and is as many blocks");
    message->method_bytes = method.bytes - 2;
    memcpy(message->method, text, BLOCK);
    if (__builtin_expect(message->method_bytes > BLOCK, false))
        memcpy(message->method + BLOCK, text + BLOCK, BLOCK);
}

void route_query_read_method(struct message *message) {
    assert(message->lookup.verdict == LOOKUP_GOOD);
    if (message->again)
        copy_method(message, message->lookup.value[KEY_METHOD]);
    else
        validate_read_method(message);
}

static struct rules_field attached_target(const struct attachment *attachment) {
    assert(attachment->bytes > 0);
    return (struct rules_field){
        .is_present = true, .is_string = true, .text = attachment->agent, .bytes = attachment->bytes};
}

// Decodes a field of params into `out`. A field that doesn't fit is longer than any name of the registry.
static void read_field(const struct message *message, enum lookup_key key, struct rules_field *field,
                       char *out, size_t capacity) {
    *field = (struct rules_field){.is_present = lookup_has(&message->lookup, key)};
    field->is_string = field->is_present && message->lookup.type[key] == JSON_STRING;
    if (!field->is_string)
        return;
    size_t bytes = json_string_decode(message->body, message->lookup.value[key], out, capacity);
    if (bytes != SIZE_MAX) {
        field->text = out;
        field->bytes = bytes;
    }
}

// Returns the message's target, which has no escapes.
static inline struct rules_field raw_target(const struct message *message) {
    struct span value = message->lookup.value[KEY_TARGET_AGENT];
    return (struct rules_field){.is_present = true,
                                .is_string = true,
                                .text = (const char *)message->body + value.at + 1,
                                .bytes = value.bytes - 2};
}

void route_query_read(const struct message *message, struct route_query *query) {
    struct rules_message *criteria = &query->criteria;
    criteria->method = message->method_long ? NULL : message->method;
    criteria->method_bytes = message->method_bytes;
    criteria->tool = criteria->approver = criteria->command = (struct rules_field){0};
    criteria->required = message->frame->unit->directives.governance;
    criteria->source = message->peer->connection_id;
    criteria->is_remote = message->origin != NULL;
    criteria->may_reach_context = NULL;
    criteria->may_reach = NULL;
    criteria->by_name_only = criteria->by_method_only = false;
    if (message->again && lookup_has(&message->lookup, KEY_TARGET_AGENT))
        criteria->target = raw_target(message);
    else
        read_field(message, KEY_TARGET_AGENT, &criteria->target, query->target, sizeof query->target);
    query->named = criteria->target.is_present;
    const struct attachment *attachment = message_attachment(message);
    if (attachment)
        criteria->target = attached_target(attachment);
    if (rules_is_tool_call(criteria))
        read_field(message, KEY_TOOL, &criteria->tool, query->second, sizeof query->second);
    else if (rules_is_approval(criteria))
        read_field(message, KEY_APPROVER, &criteria->approver, query->second, sizeof query->second);
    else if (rules_is_command(criteria))
        read_field(message, KEY_COMMAND, &criteria->command, query->second, sizeof query->second);
}
