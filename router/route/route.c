#include "router/route/route.h"

#include <assert.h>
#include <string.h>

#include "core/agents/rules.h"
#include "router/methods/methods.h"
#include "router/request/answer.h"
#include "router/request/message.h"
#include "router/request/refuse.h"
#include "router/request/validate.h"
#include "router/route/audit_log.h"
#include "router/route/events.h"
#include "router/route/forward.h"
#include "router/route/progress.h"
#include "router/send/batch.h"
#include "router/shard/drop.h"
#include "router/shard/post.h"
#include "router/shard/probe.h"

// --- Requests and notifications

// Decodes a field of params into `out`. One that doesn't fit is longer than any name that is known here.
static struct rules_field read_field(const struct message *message, enum lookup_key key, char *out,
                                     size_t capacity) {
    struct rules_field field = {.given = lookup_has(&message->lookup, key)};
    field.is_string = field.given && message->lookup.type[key] == JSON_STRING;
    if (!field.is_string)
        return field;
    size_t bytes = json_string_decode(message->body, message->lookup.value[key], out, capacity);
    if (bytes != SIZE_MAX) {
        field.text = out;
        field.bytes = bytes;
    }
    return field;
}

static void route_by_rules(struct shard *shard, const struct message *message) {
    char target[METHOD_BYTES_MAX + 1], other[METHOD_BYTES_MAX];
    struct rules_message asked = {
        .method = message->method_long ? NULL : message->method,
        .method_bytes = message->method_bytes,
        .target = read_field(message, KEY_TARGET_AGENT, target, sizeof target),
        .required = message->frame->unit->directives.governance,
        .source = message->peer->name,
    };
    if (rules_read_tool(&asked))
        asked.tool = read_field(message, KEY_TOOL, other, sizeof other);
    else if (rules_read_approver(&asked))
        asked.approver = read_field(message, KEY_APPROVER, other, sizeof other);
    if (rules_is_event(&asked)) {
        events_publish(shard, message);
        return;
    }
    events_flush(shard);
    if (!asked.target.given && progress_route(shard, message))
        return;
    struct rules_verdict verdict = rules_route(&shard->agents, &asked, hub_owed, shard->hub);
    assert(verdict.error || verdict.agent);
    enum error fault =
        verdict.error ? ERROR_NONE : forward_fault(shard, message, verdict.agent->home->connection);
    if (verdict.error == ERROR_METHOD_NOT_FOUND && message->audit == MESSAGE_AUDIT_LOG)
        return; // the journal has it
    if (verdict.error)
        refuse_route(shard, message, &asked, &verdict);
    else if (fault)
        refuse_at(shard, message, verdict.agent, fault);
    else if (message_is_request(message))
        forward_request(shard, message, verdict.agent);
    else
        forward_notification(shard, message, verdict.agent);
}

// What the journal keeps without a target is answered by the journal; whoever offers the method is told.
static void route_kept(struct shard *shard, const struct message *message) {
    assert(message->audit == MESSAGE_AUDIT_LOG);
    struct message told = *message;
    told.lookup.kind = BODY_NOTIFICATION;
    route_by_rules(shard, &told);
}

static void route_call(struct shard *shard, struct message *message) {
    assert(message->lookup.verdict == LOOKUP_GOOD);
    struct span method = message->lookup.value[KEY_METHOD];
    size_t bytes = json_string_decode(message->body, method, message->method, sizeof message->method);
    message->method_long = bytes == SIZE_MAX;
    message->method_bytes = message->method_long ? 0 : bytes;
    if (!message_method_is(message, "event"))
        events_flush(shard);
    stats_count(&shard->stats,
                message_is_request(message) ? COUNT_REQUESTS_RECEIVED : COUNT_NOTIFICATIONS_RECEIVED);
    if (refuse_header(shard, message) || methods_answer(shard, message))
        return;
    if (message_is_request(message) && shard->phase != HUB_SERVING)
        refuse(shard, message, ERROR_OVERLOADED, NULL);
    else if (!audit_log_begin(shard, message))
        return;
    else if (message->audit == MESSAGE_AUDIT_LOG && !lookup_has(&message->lookup, KEY_TARGET_AGENT))
        route_kept(shard, message);
    else
        route_by_rules(shard, message);
}

// --- Responses

// The hub id that a response bears, or 0.
static uint64_t response_hub_id(const struct shard *shard, const struct message *message) {
    uint64_t hub_id = 0;
    const struct lookup *lookup = &message->lookup;
    if (!lookup_has(lookup, KEY_ID) || lookup->type[KEY_ID] != JSON_NUMBER ||
        !json_number_whole(message->body, lookup->value[KEY_ID], &hub_id) ||
        hub_id_shard(hub_id) >= shard->hub->settings.shard_count)
        return 0;
    return hub_id;
}

static bool response_usable(const struct shard *shard, const struct message *message) {
    const struct directives *directives = &message->frame->unit->directives;
    return message->lookup.verdict == LOOKUP_GOOD && validate_response(shard, message) &&
           directives->version != VERSION_OTHER && !directives->governance_bad && !directives->timeout_bad;
}

// Whether a response says that its request failed: an error of null says nothing.
static bool is_error(const struct message *message) {
    return lookup_has(&message->lookup, KEY_ERROR) && message->lookup.type[KEY_ERROR] != JSON_NULL;
}

static void hand_to_source(struct shard *shard, uint64_t hub_id, struct parcel *parcel, uint64_t from,
                           bool usable) {
    uint32_t to = hub_id_shard(hub_id);
    assert(to < shard->hub->settings.shard_count && parcel->hole_count == 1);
    if (to != shard->index) {
        parcel->hub_id = hub_id;
        parcel->mail.kind = usable ? MAIL_ANSWER : MAIL_BROKEN;
        parcel->mail.connection = from;
        mailbox_post(hub_mailbox(shard->hub, shard->index, to), &parcel->mail);
    } else if (usable) {
        answer_deliver(shard, hub_id, from, parcel);
    } else {
        parcel_drop(parcel);
        answer_broken(shard, hub_id, from);
    }
}

// Strictly, what bears the id of a request that this connection may owe is a response, if only a broken one,
// also where it has neither a result nor an error.
static bool is_response(const struct shard *shard, const struct message *message) {
    const struct lookup *lookup = &message->lookup;
    if (lookup->kind == BODY_RESPONSE)
        return true;
    return shard->settings->strict && lookup->kind == BODY_UNKNOWN && lookup->verdict == LOOKUP_NOT_MESSAGE &&
           response_hub_id(shard, message) && hub_owed(shard->hub, message->peer->name);
}

static void route_response(struct shard *shard, const struct message *message) {
    stats_count(&shard->stats, COUNT_RESPONSES_RECEIVED);
    bool usable = response_usable(shard, message);
    if (!usable)
        drop_one(shard, COUNT_DROP_RESPONSE_BROKEN, message->peer->name, message->frame->body.bytes);
    uint64_t hub_id = response_hub_id(shard, message);
    if (!hub_id) {
        drop_one(shard, COUNT_DROP_RESPONSE_UNKNOWN, message->peer->name, message->frame->body.bytes);
        return;
    }
    struct parcel *parcel =
        parcel_open_answer(&shard->parcels, message->frame, &message->lookup.value[KEY_ID]);
    if (parcel) {
        parcel->mail.detail = is_error(message);
        parcel->body = message->frame->body;
    }
    if (parcel)
        hand_to_source(shard, hub_id, parcel, message->peer->name, usable);
    else // what it owes ends when the connection goes
        peer_close(shard, message->peer, COUNT_CLOSED_NO_MEMORY);
}

// --- All

static void look_up(struct shard *shard, struct message *message, const struct frame *frame) {
    assert(frame->body.bytes > 0 && frame->body.at + frame->body.bytes <= frame->buffer->capacity);
    message->frame = frame;
    message->body = frame_body(frame);
    validate_look_up(shard, message);
}

// A message of its own, or a member of a batch.
static void route_message(struct shard *shard, struct message *message) {
    assert(message->peer->state == PEER_OPEN);
    bool is_call = message->lookup.kind == BODY_REQUEST || message->lookup.kind == BODY_NOTIFICATION;
    bool is_good = message->lookup.verdict == LOOKUP_GOOD && is_call;
    if (message->lookup.kind != BODY_NOTIFICATION)
        events_flush(shard);
    PROBE(route, message->peer->name, message->frame->body.bytes, message->lookup.kind);
    if (is_response(shard, message)) {
        route_response(shard, message);
        return;
    }
    if (message->batch && (!is_good || message_is_request(message)))
        batch_expect(message->batch);
    if (is_good)
        route_call(shard, message);
    else
        refuse_body(shard, message);
}

static void walk_members(struct json_walk *walk, const struct message *whole) {
    uint32_t bytes = whole->frame->body.bytes, at = json_skip_space(whole->body, 0, bytes);
    json_walk_begin(walk, whole->body, (struct span){at, bytes - at});
}

// How many there are, as far as `max` and one more.
static uint32_t count_members(const struct message *whole, uint32_t max) {
    struct json_walk walk;
    uint32_t count = 0;
    walk_members(&walk, whole);
    for (struct json_item item; count <= max && json_next(&walk, &item) == JSON_ITEM;)
        count++;
    return count;
}

// What follows a member that closed the connection isn't read, as what follows such a frame isn't.
static void route_members(struct shard *shard, const struct message *whole, struct batch *batch) {
    struct json_walk walk;
    walk_members(&walk, whole);
    for (struct json_item item; whole->peer->state == PEER_OPEN && json_next(&walk, &item) == JSON_ITEM;) {
        struct frame frame = *whole->frame;
        assert(item.value.at + item.value.bytes <= whole->frame->body.bytes);
        frame.body = (struct span){whole->frame->body.at + item.value.at, item.value.bytes};
        struct message message;
        message_begin(&message, whole->peer, batch);
        look_up(shard, &message, &frame);
        route_message(shard, &message);
    }
}

// Whether all of a batch is JSON; if not, its lookup says so.
static bool judge_batch(struct message *whole) {
    bool too_deep;
    if (json_valid(whole->body, whole->frame->body.bytes))
        return true;
    whole->lookup.fault_at = json_grammar_fault(whole->body, whole->frame->body.bytes, &too_deep);
    assert(too_deep || whole->lookup.fault_at <= whole->frame->body.bytes);
    whole->lookup.verdict = too_deep ? LOOKUP_TOO_DEEP : LOOKUP_NOT_JSON;
    return false;
}

// Nothing of a batch is routed unless all of it is JSON.
static void route_batch(struct shard *shard, struct message *whole) {
    assert(!whole->batch && whole->lookup.verdict == LOOKUP_GOOD);
    stats_count(&shard->stats, COUNT_BATCHES_RECEIVED);
    if (!shard->settings->strict && !judge_batch(whole)) {
        refuse_body(shard, whole);
        return;
    }
    uint32_t max = shard_limits(shard)->batch_members_max, count = count_members(whole, max);
    if (count == 0 || count > max) {
        refuse_batch_size(shard, whole);
        return;
    }
    struct batch *batch = batch_open(shard, whole->peer);
    if (!batch) {
        peer_close(shard, whole->peer, COUNT_CLOSED_NO_MEMORY);
        return;
    }
    route_members(shard, whole, batch);
    batch_close(shard, batch);
}

void route_frame(struct shard *shard, struct peer *peer, const struct frame *frame) {
    struct message message;
    assert(connection_shard(peer->name) == shard->index);
    message_begin(&message, peer, NULL);
    look_up(shard, &message, frame);
    if (message.lookup.kind == BODY_BATCH && message.lookup.verdict == LOOKUP_GOOD)
        route_batch(shard, &message);
    else
        route_message(shard, &message);
}
