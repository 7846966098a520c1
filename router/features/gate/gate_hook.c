#include "router/features/gate/gate_hook.h"

#include <assert.h>

#include "core/rights/rights.h"
#include "router/audit/audit.h"
#include "router/engine/message/message_copy.h"
#include "router/engine/request/refuse.h"
#include "router/engine/send/exchange.h"
#include "router/engine/shard/feature_call.h"
#include "router/events/events.h"
#include "router/events/notify_fanout.h"
#include "router/features/gate/gate_hold.h"
#include "router/features/gate/gate_json.h"
#include "router/forwarding/remote_route.h"
#include "router/rights/authz.h"

// --- Events

static void announce(struct shard *shard, const struct held_message *held) {
    struct text body;
    assert(!held->is_released);
    text_init(&body);
    text_put(&body, "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"event\":\"" RIGHTS_GATE_EVENT
                    "\",\"data\":");
    gate_json_put(&body, shard, held, false);
    text_put(&body, "}}");
    if (!body.failed)
        events_announce(shard, held->source, held->user, RIGHTS_GATE_EVENT, &body);
    if (!body.failed && hub_has_cluster(shard->hub))
        remote_route_announce(shard, NULL, &body);
    text_deinit(&body);
}

static bool names_our_event(const struct message *message) {
    return message_method_is(message, "event") && lookup_has(&message->lookup, KEY_EVENT) &&
           message->lookup.type[KEY_EVENT] == JSON_STRING &&
           json_string_is(message->body, message->lookup.value[KEY_EVENT], RIGHTS_GATE_EVENT);
}

static void refuse_forged_event(struct shard *shard, const struct message *message) {
    struct text data;
    text_init(&data);
    reply_data_text(&data, "rule", "publish");
    audit_refusal(shard, message, ERROR_NOT_ALLOWED, NULL, &data);
    refuse(shard, message, ERROR_NOT_ALLOWED, &data);
}

// --- Decisions to hold

static bool requires_approval(const struct shard *shard, const struct message *message) {
    return message->frame->unit->directives.governance >= shard->hub->start_settings.approval_level;
}

static bool is_valid_event(const struct message *message) {
    assert(message_method_is(message, "event"));
    char name[EVENT_BYTES_MAX];
    if (!lookup_has(&message->lookup, KEY_EVENT) || message->lookup.type[KEY_EVENT] != JSON_STRING)
        return false;
    size_t bytes = json_string_decode(message->body, message->lookup.value[KEY_EVENT], name, sizeof name);
    return bytes != SIZE_MAX && bytes != 0;
}

// Returns whether a message would go anywhere from here, whatever levels the targets support. A message to one agent of
// another hub is held by that hub. A message to all agents that name its method may reach agents of other hubs, which
// don't hold their copies.
static bool reaches_any(struct shard *shard, const struct message *message,
                        const struct rules_message *criteria) {
    struct rules_message relaxed = *criteria;
    if (rules_is_event(criteria))
        return is_valid_event(message);
    bool is_notice = !message_is_request(message) && !message_has_target(message);
    if (is_notice &&
        (notify_fanout_some(shard, message, NULL) || (!message->origin && remote_target_link(shard))))
        return true;
    relaxed.required = GOVERNANCE_AUTONOMOUS;
    struct rules_verdict verdict = rules_route(&shard->agents, &relaxed, hub_pending, shard->hub);
    bool goes_remote = verdict.stands_in && !message->origin && remote_target_link(shard) &&
                       message_is_request(message) && !(message->retry && message->retry->first_over);
    assert(verdict.error || verdict.agent);
    return !verdict.error && !goes_remote;
}

// Holds a message that came back from another hub. The message's time begins after approval, with the time that its
// source gave.
static struct held_message *hold_retry(struct shard *shard, const struct message *message) {
    struct unit unit = *message->frame->unit;
    struct frame frame = *message->frame;
    struct message copy = *message;
    assert(message->retry);
    unit.directives = message->retry->original;
    frame.unit = &unit;
    copy.frame = &frame;
    return gate_hold_begin(shard, &copy);
}

// `agent`: the one agent that the message is held for; NULL: the message is held before an agent is chosen.
static void hold(struct shard *shard, const struct message *message, const struct agent *agent) {
    events_flush(shard); // events that came before must be published before
    struct held_message *held = message->retry ? hold_retry(shard, message) : gate_hold_begin(shard, message);
    if (!held)
        return;
    held->is_for_one = agent != NULL;
    feature_hold_began(shard, message, agent, &held->hold);
    if (message->retry && message->retry->outcome) // the held message gets its own lines
        audit_refused(shard, message, ERROR_APPROVAL_REQUIRED);
    announce(shard, held);
}

static bool requires_approval_by_name(struct shard *shard, const struct message *message,
                                      const struct rules_message *criteria) {
    return authz_requires_approval(shard, message, criteria) ||
           (!lookup_has(&message->lookup, KEY_TARGET_AGENT) &&
            notify_fanout_some(shard, message, authz_requires_approval_at));
}

// Returns whether another hub has decided whether to hold the message: the source's hub decides for messages to all
// agents.
static bool is_judged_remotely(const struct message *message) {
    const struct origin *origin = message->origin;
    return origin && (origin_is_copy(origin) ||
                      (origin->hub.bytes && !message_is_request(message) && !message_has_target(message)));
}

bool gate_hook_takes(struct shard *shard, const struct message *message,
                     const struct rules_message *criteria) {
    assert(gate_of(shard) && shard->hub->start_settings.approval_level);
    if (message->approved)
        return false;
    if (names_our_event(message)) { // also from another hub: hubs publish this event under another subject
        refuse_forged_event(shard, message);
        return true;
    }
    if (is_judged_remotely(message) || gate_hold_exempts(message))
        return false;
    if (!(requires_approval(shard, message) || requires_approval_by_name(shard, message, criteria)) ||
        !reaches_any(shard, message, criteria))
        return false;
    hold(shard, message, NULL);
    return true;
}

bool gate_hook_takes_at(struct shard *shard, const struct message *message, const struct agent *agent) {
    assert(gate_of(shard) && agent);
    if (message->approved || (message->origin && origin_is_copy(message->origin)) ||
        gate_hold_exempts(message) || !authz_requires_approval_at(shard, message, agent))
        return false;
    hold(shard, message, agent);
    return true;
}
