#include "router/route.h"

#include <string.h>

#include "core/rules.h"
#include "core/text.h"
#include "router/answer.h"
#include "router/mail.h"
#include "router/methods.h"
#include "router/send.h"

// --- Refusing

void route_refuse(struct shard *shard, const struct message *message, enum error error, struct text *data) {
    if (message_is_request(message)) {
        reply_error(shard, message->peer, message_id(message), error, data);
        return;
    }
    enum counter counter =
        error == ERROR_METHOD_NOT_FOUND || error == ERROR_AGENT_NOT_FOUND || error == ERROR_TOOL
            ? COUNT_DROP_NO_ROUTE
        : error == ERROR_OVERLOADED          ? COUNT_DROP_OVERLOADED
        : error == ERROR_TARGET_DISCONNECTED ? COUNT_DROP_TARGET_GONE
                                             : COUNT_DROP_REFUSED;
    stats_count(&shard->stats, counter);
    if (data)
        text_deinit(data);
}

void route_refuse_field(struct shard *shard, const struct message *message, const char *field,
                        const char *expected) {
    struct text data;
    text_init(&data);
    reply_data_text(&data, "field", field);
    reply_data_text(&data, "expected", expected);
    route_refuse(shard, message, ERROR_INVALID_PARAMS, &data);
}

// A body that is no message, or one that two readers could understand differently. Its id can't be relied on.
static void refuse_body(struct shard *shard, const struct message *message) {
    static const char *const faults[] = {
        [LOOKUP_NOT_JSON] = "the body is not JSON",
        [LOOKUP_NOT_UTF8] = "the body is not UTF-8",
        [LOOKUP_AMBIGUOUS] = "this key must occur once, and not be spelled with escapes",
        [LOOKUP_NOT_MESSAGE] = "the body is neither a request, a notification nor a response",
        [LOOKUP_BAD_ID] = "an id must be a string or a number within the limit",
        [LOOKUP_GOOD] = "messages of this kind are not served",
    };
    enum lookup_verdict verdict = message->lookup.verdict;
    struct text data;
    text_init(&data);
    reply_data_text(&data, "fault", faults[verdict]);
    if (verdict == LOOKUP_AMBIGUOUS)
        reply_data_text(&data, "key", lookup_key_text(message->lookup.fault_key));
    if (verdict == LOOKUP_NOT_JSON)
        reply_data_number(&data, "offset",
                          message->frame->header->header_bytes + (int64_t)message->lookup.fault_at);
    if (verdict == LOOKUP_BAD_ID)
        reply_data_number(&data, "limit", shard_limits(shard)->id_bytes_max);
    enum error error = verdict == LOOKUP_NOT_JSON ? ERROR_PARSE : ERROR_INVALID_REQUEST;
    reply_error(shard, message->peer, (struct reply_id){0}, error, &data);
}

// Header fields that are well formed but can't be served. True when the message was refused for one.
static bool refuse_header(struct shard *shard, const struct message *message) {
    const struct frame_scan *header = message->frame->header;
    if (header->version == FRAME_VERSION_OTHER) {
        struct text data;
        text_init(&data);
        reply_data_text(&data, "field", "HugAI-Version");
        reply_data_text(&data, "expected", "2");
        route_refuse(shard, message, ERROR_VERSION, &data);
        return true;
    }
    if (header->governance_bad) {
        route_refuse_field(shard, message, "Governance-Level",
                           "autonomous, supervised, human-in-the-loop or manual");
        return true;
    }
    if (header->timeout_bad) {
        route_refuse_field(shard, message, "Custom-Timeout-Ms", "a number from 1 to 3600000");
        return true;
    }
    return false;
}

static void refuse_route(struct shard *shard, const struct message *message,
                         const struct rules_message *asked, const struct rules_verdict *verdict) {
    struct text data;
    text_init(&data);
    if (verdict->error == ERROR_METHOD_NOT_FOUND) {
        reply_data_string(&data, "method", message->method, message->method_bytes);
    } else if (verdict->error == ERROR_INVALID_PARAMS) {
        reply_data_text(&data, "field", verdict->field);
        reply_data_text(&data, "expected", "string");
    } else if (verdict->error == ERROR_AGENT_NOT_FOUND) {
        reply_data_string(&data, "agent", asked->target.text, asked->target.bytes);
    } else if (verdict->error == ERROR_TOOL) {
        reply_data_string(&data, "tool", asked->tool.text, asked->tool.bytes);
    } else {
        reply_data_string(&data, "agent", verdict->agent->id, verdict->agent->id_bytes);
        reply_data_text(&data, "required", governance_text(asked->required));
        reply_data_text(&data, "supported", governance_text(verdict->agent->governance));
    }
    route_refuse(shard, message, verdict->error, &data);
}

// The agent is known, but the message can't go there.
static void refuse_at(struct shard *shard, const struct message *message, const struct agent *agent,
                      enum error error) {
    struct text data;
    text_init(&data);
    reply_data_string(&data, "agent", agent->id, agent->id_bytes);
    route_refuse(shard, message, error, &data);
}

// --- Forwarding

static enum parcel_lane lane_of(const struct message *message) {
    if (!lookup_has(&message->lookup, KEY_PRIORITY) || message->lookup.type[KEY_PRIORITY] != JSON_STRING)
        return LANE_NORMAL;
    struct span priority = message->lookup.value[KEY_PRIORITY];
    bool high = json_string_is(message->body, priority, "high") ||
                json_string_is(message->body, priority, "critical");
    return high ? LANE_HIGH : LANE_NORMAL;
}

// What keeps the target from taking one more now, as far as this shard knows. One that has gone may still be
// in the registry: its leaving goes round.
static enum error target_fault(struct shard *shard, const struct message *message, uint64_t target) {
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

static void forward_notification(struct shard *shard, const struct message *message, struct agent *agent) {
    struct parcel *parcel = parcel_forward(&shard->parcels, message->frame);
    if (!parcel) {
        stats_count(&shard->stats, COUNT_DROP_NO_MEMORY);
        return;
    }
    parcel->lane = (uint8_t)lane_of(message);
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
    pending->target = home->connection;
    pending->timeout_ms = timeout_ms(shard, message);
    pending->timer.kind = TIMER_PENDING;
    list_append(&message->peer->asked, &pending->by_source);
    list_append(&home->pending, &pending->by_target);
    wheel_arm(&shard->wheel, &pending->timer, shard_now_ms(shard) + pending->timeout_ms);
    hub_owe(shard->hub, home->connection, 1);
}

static void forward_request(struct shard *shard, const struct message *message, struct agent *agent) {
    struct reply_id id = message_id(message);
    struct pending *pending = pending_add(&shard->pending, id.bytes, id.count);
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
    parcel->lane = (uint8_t)lane_of(message);
    stats_count(&shard->stats, COUNT_REQUESTS_FORWARDED);
    deliver(shard, agent->home->connection, parcel);
}

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
        .method = message->method,
        .method_bytes = message->method_bytes,
        .target = read_field(message, KEY_TARGET_AGENT, target, sizeof target),
        .required = message->frame->header->governance,
        .source = message->peer->name,
    };
    if (rules_read_tool(&asked))
        asked.tool = read_field(message, KEY_TOOL, other, sizeof other);
    else if (rules_read_approver(&asked))
        asked.approver = read_field(message, KEY_APPROVER, other, sizeof other);
    struct rules_verdict verdict = rules_route(&shard->agents, &asked, hub_owed, shard->hub);
    enum error fault =
        verdict.error ? ERROR_NONE : target_fault(shard, message, verdict.agent->home->connection);
    if (verdict.error)
        refuse_route(shard, message, &asked, &verdict);
    else if (fault)
        refuse_at(shard, message, verdict.agent, fault);
    else if (message_is_request(message))
        forward_request(shard, message, verdict.agent);
    else
        forward_notification(shard, message, verdict.agent);
}

static void route_call(struct shard *shard, struct message *message) {
    struct span method = message->lookup.value[KEY_METHOD];
    size_t bytes = json_string_decode(message->body, method, message->method, sizeof message->method);
    message->method_bytes = bytes == SIZE_MAX ? 0 : bytes;
    stats_count(&shard->stats,
                message_is_request(message) ? COUNT_REQUESTS_RECEIVED : COUNT_NOTIFICATIONS_RECEIVED);
    if (refuse_header(shard, message) || methods_answer(shard, message))
        return;
    if (message_is_request(message) && shard->phase != HUB_SERVING)
        route_refuse(shard, message, ERROR_OVERLOADED, NULL);
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

static bool response_usable(const struct message *message) {
    const struct frame_scan *header = message->frame->header;
    return message->lookup.verdict == LOOKUP_GOOD && header->version != FRAME_VERSION_OTHER &&
           !header->governance_bad && !header->timeout_bad;
}

static void hand_to_source(struct shard *shard, uint64_t hub_id, struct parcel *parcel, uint64_t from,
                           bool usable) {
    uint32_t to = hub_id_shard(hub_id);
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

static void route_response(struct shard *shard, const struct message *message) {
    stats_count(&shard->stats, COUNT_RESPONSES_RECEIVED);
    bool usable = response_usable(message);
    if (!usable)
        stats_count(&shard->stats, COUNT_DROP_RESPONSE_BROKEN);
    uint64_t hub_id = response_hub_id(shard, message);
    if (!hub_id) {
        stats_count(&shard->stats, COUNT_DROP_RESPONSE_UNKNOWN);
        return;
    }
    struct parcel *parcel = parcel_open(&shard->parcels, message->frame, &message->lookup.value[KEY_ID], 1);
    if (parcel)
        hand_to_source(shard, hub_id, parcel, message->peer->name, usable);
    else // what it owes ends when the connection goes
        peer_close(shard, message->peer, COUNT_CLOSED_NO_MEMORY);
}

// --- All

void route_frame(struct shard *shard, struct peer *peer, const struct frame *frame) {
    struct message message;
    message.peer = peer;
    message.frame = frame;
    message.body = frame_body(frame);
    lookup_body(&message.lookup, message.body, frame->body.bytes, shard_limits(shard)->id_bytes_max);
    if (message.lookup.kind == BODY_RESPONSE)
        route_response(shard, &message);
    else if (message.lookup.verdict != LOOKUP_GOOD || message.lookup.kind == BODY_BATCH ||
             message.lookup.kind == BODY_STREAM)
        refuse_body(shard, &message);
    else
        route_call(shard, &message);
}
