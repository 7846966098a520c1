#include "router/engine/request/refuse.h"

#include <assert.h>

#include "core/cluster/hub_header.h"
#include "router/audit/audit.h"
#include "router/engine/send/exchange.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/feature_call.h"
#include "router/engine/shard/identity.h"

void refuse(struct shard *shard, const struct message *message, enum error error, struct text *data) {
    assert(error > ERROR_NONE && error < ERRORS_COUNT);
    audit_refused(shard, message, error);
    feature_message_refused(shard, message, error);
    if (message_is_request(message)) {
        reply_error(shard, message->peer, message_reply_to(message), error, data);
        return;
    }
    refuse_unreported(shard, message->peer->connection_id, error, message->frame->body.bytes);
    if (data)
        text_deinit(data);
}

const char refuse_hub_ends[] = "the hub is ending";

void refuse_for(struct shard *shard, const struct message *message, enum error error, const char *fault) {
    struct text data;
    text_init(&data);
    reply_data_text(&data, "fault", fault);
    refuse(shard, message, error, &data);
}

void refuse_unreported(struct shard *shard, uint64_t source, enum error error, size_t bytes) {
    assert(error > ERROR_NONE && error < ERRORS_COUNT && connection_shard(source) == shard->index);
    enum counter counter =
        error == ERROR_METHOD_NOT_FOUND || error == ERROR_AGENT_NOT_FOUND || error == ERROR_TOOL
            ? COUNT_DROP_NO_ROUTE
        : error == ERROR_OVERLOADED          ? COUNT_DROP_OVERLOADED
        : error == ERROR_TARGET_DISCONNECTED ? COUNT_DROP_TARGET_GONE
                                             : COUNT_DROP_REFUSED;
    drop_one(shard, counter, source, bytes);
}

void refuse_right_silently(struct shard *shard, const struct message *message, enum rule rule) {
    struct text data;
    assert(rule < RULES_COUNT && COUNT_REFUSED_OWN - COUNT_REFUSED_REGISTER == RULES_COUNT - 1);
    text_init(&data);
    reply_data_text(&data, "rule", rule_text(rule));
    stats_count(&shard->stats, (enum counter)(COUNT_REFUSED_REGISTER + rule));
    audit_refusal(shard, message, ERROR_NOT_ALLOWED, NULL, &data);
    text_deinit(&data);
}

void refuse_right(struct shard *shard, const struct message *message, enum rule rule) {
    struct text data;
    refuse_right_silently(shard, message, rule);
    text_init(&data);
    reply_data_text(&data, "rule", rule_text(rule));
    refuse(shard, message, ERROR_NOT_ALLOWED, &data);
}

void refuse_limit_put(struct shard *shard, struct text *data, const struct user *user,
                      enum account_limit limit) {
    assert(shard->settings->users && user);
    reply_data_text(data, "fault", "over a limit of this user's");
    reply_data_text(data, "key", account_limit_text(limit));
    reply_data_number(data, "limit", (int64_t)account_limit_of(&users_rights(user)->limits, limit));
    stats_count(&shard->stats, COUNT_OVER_LIMIT);
}

void refuse_limit(struct shard *shard, const struct message *message, enum account_limit limit,
                  uint64_t wait_ms) {
    struct text data;
    text_init(&data);
    identity_note_over(shard, message->peer);
    refuse_limit_put(shard, &data, identity_user(message->peer), limit);
    if (wait_ms)
        reply_data_number(&data, "retryAfterMs", (int64_t)wait_ms);
    if (message->exchange) {
        message->exchange->is_limited = true;
        message->exchange->wait_ms = wait_ms < UINT32_MAX ? (uint32_t)wait_ms : UINT32_MAX;
    }
    refuse(shard, message, ERROR_OVERLOADED, &data);
}

void refuse_field(struct shard *shard, const struct message *message, const char *field,
                  const char *expected) {
    assert(field && expected);
    struct text data;
    text_init(&data);
    reply_data_text(&data, "field", field);
    reply_data_text(&data, "expected", expected);
    refuse(shard, message, ERROR_INVALID_PARAMS, &data);
}

void refuse_without_quota(struct shard *shard, const struct message *message, const struct agent *agent) {
    struct text data;
    text_init(&data);
    if (agent)
        reply_data_string(&data, "agent", agent->id, agent->id_bytes);
    reply_data_number(&data, "limit", (int64_t)quota_bytes_max(&shard->quota));
    refuse(shard, message, ERROR_OVERLOADED, &data);
}

const char refuse_share_fault[] =
    "half of what the hub keeps for all is as much as it keeps for one user, or one address";

void refuse_share(struct shard *shard, const struct message *message) {
    struct text data;
    assert(message->peer);
    text_init(&data);
    reply_data_text(&data, "fault", refuse_share_fault);
    reply_data_number(&data, "limit", (int64_t)quota_bytes_max(&shard->quota) / 2);
    refuse(shard, message, ERROR_OVERLOADED, &data);
}

static const char ambiguous[] = "this key must occur once, in its own case and without escapes";

// Lets the transport refuse a body that can't be read, if it does that itself. Returns whether it did; then no answer
// is due.
static bool refuse_silently(struct shard *shard, const struct message *message) {
    if (!message->peer->transport->codec.unreadable)
        return false;
    message->peer->transport->codec.unreadable(shard, message->peer, message->body,
                                               message->frame->body.bytes);
    if (message->exchange)
        exchange_miss(shard, message->exchange);
    return true;
}

// Returns the offset of a fault in the frame as its source sent the frame, perhaps to another hub.
static int64_t offset_of(const struct message *message, uint32_t fault_at) {
    const struct origin *origin = message->origin;
    assert(fault_at <= message->frame->body.bytes);
    if (origin && origin->from_bytes)
        return (int64_t)frame_offset_original(origin->from, origin->from_bytes, fault_at);
    return (int64_t)message->frame->unit->body_at + fault_at;
}

// Answers a body as a whole, without an id, and wipes the body: nobody has judged a credential in it.
static void refuse_whole(struct shard *shard, const struct message *message, struct exchange *exchange,
                         enum error error, struct text *data) {
    reply_error(shard, message->peer, (struct reply_to){.exchange = exchange}, error, data);
    message_erase(message);
}

void refuse_body(struct shard *shard, const struct message *message) {
    static const char *const faults[] = {
        [LOOKUP_NOT_JSON] = "the body is not JSON",
        [LOOKUP_NOT_UTF8] = "the body is not UTF-8",
        [LOOKUP_TOO_DEEP] = "the body is nested too deeply",
        [LOOKUP_AMBIGUOUS] = ambiguous,
        [LOOKUP_NOT_MESSAGE] = "the body is neither a request, a notification nor a response",
        [LOOKUP_BAD_ID] = "an id must be a string or a number within the limit",
        [LOOKUP_GOOD] = "messages of this kind are not served",
    };
    enum lookup_verdict verdict = message->lookup.verdict;
    if (refuse_silently(shard, message))
        return;
    assert((size_t)verdict < sizeof faults / sizeof *faults && faults[verdict]);
    struct text data;
    text_init(&data);
    reply_data_text(&data, "fault", faults[verdict]);
    if (verdict == LOOKUP_AMBIGUOUS)
        reply_data_text(&data, "key", lookup_key_text(message->lookup.fault_key));
    if (verdict == LOOKUP_NOT_JSON)
        reply_data_number(&data, "offset", offset_of(message, message->lookup.fault_at));
    if (verdict == LOOKUP_TOO_DEEP)
        reply_data_number(&data, "limit", JSON_GRAMMAR_DEPTH_MAX);
    if (verdict == LOOKUP_BAD_ID)
        reply_data_number(&data, "limit", shard_limits(shard)->id_bytes_max);
    enum error error = verdict == LOOKUP_NOT_JSON ? ERROR_PARSE : ERROR_INVALID_REQUEST;
    refuse_whole(shard, message, message->exchange, error, &data);
}

void refuse_batch_size(struct shard *shard, const struct message *message) {
    if (refuse_silently(shard, message))
        return;
    struct text data;
    text_init(&data);
    reply_data_text(&data, "fault", "a batch has one member or more, up to the limit");
    reply_data_number(&data, "limit", shard_limits(shard)->batch_members_max);
    refuse_whole(shard, message, message->exchange, ERROR_INVALID_REQUEST, &data);
}

void refuse_batch_rest(struct shard *shard, const struct message *batch, struct exchange *exchange) {
    struct text data;
    text_init(&data);
    reply_data_text(&data, "fault", "so many members of a batch may come before a credential");
    reply_data_number(&data, "limit", UNAUTHENTICATED_MEMBERS_MAX);
    exchange_expect(exchange);
    refuse_whole(shard, batch, exchange, ERROR_NOT_INITIALIZED, &data);
}

// Refuses a request for a large result while much waits for the peer. Otherwise a few bytes from a peer that doesn't
// read would be megabytes of work, for which all other peers wait. A refusal is small.
bool refuse_result(struct shard *shard, const struct message *message) {
    size_t most = 2 * shard_limits(shard)->queue_bytes_max;
    if (!message_is_request(message) ||
        connection_waiting(&message->peer->connection) + message->peer->exchange_bytes < most)
        return false;
    struct text data;
    text_init(&data);
    reply_data_text(&data, "fault", "too much waits for this connection already");
    reply_data_number(&data, "limit", (int64_t)most);
    refuse(shard, message, ERROR_OVERLOADED, &data);
    return true;
}

bool refuse_directives(struct shard *shard, const struct message *message) {
    const struct directives *directives = &message->frame->unit->directives;
    assert(directives_is_bad(directives));
    if (directives->version == VERSION_OTHER) {
        struct text data;
        text_init(&data);
        reply_data_text(&data, "field", "HugAI-Version");
        reply_data_text(&data, "expected", "2");
        refuse(shard, message, ERROR_VERSION, &data);
        return true;
    }
    if (directives->governance_bad) {
        refuse_field(shard, message, "Governance-Level",
                     "autonomous, supervised, human-in-the-loop or manual");
        return true;
    }
    if (directives->timeout_bad) {
        refuse_field(shard, message, "Custom-Timeout-Ms", "a number from 1 to 3600000");
        return true;
    }
    refuse_field(shard, message, "Custom-Idle-Timeout-Ms", "a number from 1 to 3600000");
    return true;
}

// Puts a name that nobody bears. A name that was too long to be read is none that could be, which the limit
// tells.
static void put_name_or_limit(struct text *data, const char *key, const struct rules_field *name,
                              int64_t limit) {
    if (name->text)
        reply_data_string(data, key, name->text, name->bytes);
    else
        reply_data_number(data, "limit", limit);
}

static void put_method(struct text *data, const struct message *message) {
    struct rules_field method = {.text = message->method_long ? NULL : message->method,
                                 .bytes = message->method_bytes};
    put_name_or_limit(data, "method", &method, METHOD_BYTES_MAX);
}

void refuse_method(struct shard *shard, const struct message *message) {
    struct text data;
    text_init(&data);
    put_method(&data, message);
    refuse(shard, message, ERROR_METHOD_NOT_FOUND, &data);
}

void refuse_route(struct shard *shard, const struct message *message, const struct rules_message *criteria,
                  const struct rules_verdict *verdict) {
    assert(verdict->error > ERROR_NONE && verdict->error < ERRORS_COUNT);
    struct text data;
    text_init(&data);
    if (verdict->error == ERROR_METHOD_NOT_FOUND) {
        put_method(&data, message);
    } else if (verdict->error == ERROR_INVALID_PARAMS) {
        reply_data_text(&data, "field", verdict->field);
        reply_data_text(&data, "expected", "string");
    } else if (verdict->error == ERROR_AGENT_NOT_FOUND) {
        put_name_or_limit(&data, "agent", &criteria->target, AGENT_ID_BYTES_MAX);
    } else if (verdict->error == ERROR_TOOL) {
        put_name_or_limit(&data, "tool", &criteria->tool, METHOD_BYTES_MAX);
    } else {
        assert(verdict->error == ERROR_GOVERNANCE_VIOLATION && verdict->agent);
        reply_data_string(&data, "agent", verdict->agent->id, verdict->agent->id_bytes);
        reply_data_text(&data, "required", governance_text(criteria->required));
        reply_data_text(&data, "supported", governance_text(verdict->agent->governance));
        audit_refusal(shard, message, verdict->error, verdict->agent, &data);
    }
    refuse(shard, message, verdict->error, &data);
}

void refuse_full_put(struct shard *shard, struct text *data, bool is_at_maximum) {
    const struct limits *limits = shard_limits(shard);
    reply_data_text(data, "fault",
                    is_at_maximum ? "the target owes too many answers" : "the target's queue is full");
    reply_data_number(data, "limit",
                      is_at_maximum ? (int64_t)limits->pending_max : (int64_t)limits->queue_bytes_max);
}

static bool has_maximum_pending(struct shard *shard, const struct message *message,
                                const struct agent *agent) {
    return message_is_request(message) &&
           hub_pending(shard->hub, agent->registrant->connection) >= shard_limits(shard)->pending_max;
}

void refuse_at(struct shard *shard, const struct message *message, const struct agent *agent,
               enum error error) {
    assert(agent);
    // A child's stub goes with its section alone: the registry is about to know that there is no such agent.
    bool is_removed = error == ERROR_TARGET_DISCONNECTED && agent->child;
    struct text data;
    text_init(&data);
    reply_data_string(&data, "agent", agent->id, agent->id_bytes);
    if (error == ERROR_OVERLOADED)
        refuse_full_put(shard, &data, has_maximum_pending(shard, message, agent));
    refuse(shard, message, is_removed ? ERROR_AGENT_NOT_FOUND : error, &data);
}
