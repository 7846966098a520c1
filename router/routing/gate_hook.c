#include "router/routing/gate_hook.h"

#include <assert.h>

#include "core/rights/rights.h"
#include "router/audit/audit.h"
#include "router/engine/message/message_copy.h"
#include "router/engine/request/refuse.h"
#include "router/engine/send/exchange.h"
#include "router/events/events.h"
#include "router/events/notify_fanout.h"
#include "router/features/gate/gate_hold.h"
#include "router/features/gate/gate_json.h"
#include "router/forwarding/inbound_return.h"
#include "router/forwarding/remote_route.h"
#include "router/rights/authz.h"
#include "router/rights/remote_acl_check.h"

// --- Telling

static void announce(struct shard *shard, const struct held_message *held) {
    struct text body;
    assert(!held->is_released);
    text_init(&body);
    text_put(&body, "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"event\":\"" RIGHTS_GATE_EVENT
                    "\",\"data\":");
    gate_json_put(&body, shard, held, false);
    text_put(&body, "}}");
    if (!body.failed)
        events_announce(shard, held, RIGHTS_GATE_EVENT, &body);
    text_deinit(&body);
}

static bool names_our_event(const struct message *message) {
    return message_method_is(message, "event") && lookup_has(&message->lookup, KEY_EVENT) &&
           message->lookup.type[KEY_EVENT] == JSON_STRING &&
           json_string_is(message->body, message->lookup.value[KEY_EVENT], RIGHTS_GATE_EVENT);
}

static void refuse_pretence(struct shard *shard, const struct message *message) {
    struct text data;
    text_init(&data);
    reply_data_text(&data, "rule", "publish");
    audit_refusal(shard, message, ERROR_NOT_ALLOWED, NULL, &data);
    refuse(shard, message, ERROR_NOT_ALLOWED, &data);
}

// --- Judging

static bool requires_approval(const struct shard *shard, const struct message *message) {
    return message->frame->unit->directives.governance >= shard->hub->settings.gate;
}

static bool is_good_event(const struct message *message) {
    assert(message_method_is(message, "event"));
    char name[EVENT_BYTES_MAX];
    if (!lookup_has(&message->lookup, KEY_EVENT) || message->lookup.type[KEY_EVENT] != JSON_STRING)
        return false;
    size_t bytes = json_string_decode(message->body, message->lookup.value[KEY_EVENT], name, sizeof name);
    return bytes != SIZE_MAX && bytes != 0;
}

// Whether it would go anywhere, whatever levels are supported there.
enum reach { REACH_NOBODY, REACH_HERE, REACH_ELSEWHERE };

// Who might be at another hub isn't known yet: `to` says where, since the gate holds at the source's hub; and *verdict why nobody is here.
static enum reach reach_of(struct shard *shard, const struct message *message,
                           const struct rules_message *asked, struct rules_verdict *verdict,
                           struct remote_target *to) {
    struct rules_message loosely = *asked;
    if (rules_is_event(asked))
        return is_good_event(message) ? REACH_HERE : REACH_NOBODY;
    if (!lookup_has(&message->lookup, KEY_TARGET_AGENT) && notify_fanout_some(shard, message, NULL))
        return REACH_HERE;
    loosely.required = GOVERNANCE_AUTONOMOUS;
    *verdict = rules_route(&shard->agents, &loosely, hub_owed, shard->hub);
    assert(verdict->error || verdict->agent);
    bool is_here = verdict->error == ERROR_NONE;
    if (is_here && (message_is_request(message) || !verdict->stands_in))
        return REACH_HERE;
    bool is_elsewhere = remote_target_link(shard) && remote_target_find(shard, message, asked, verdict, to);
    return is_elsewhere ? REACH_ELSEWHERE : is_here ? REACH_HERE : REACH_NOBODY;
}

// A request is held once it is known that somebody is there for it: else it is refused, and not sent, since who comes meanwhile
// would get it unapproved. Nobody would hear that of a notification.
static bool seeks(struct shard *shard, const struct message *message, const struct rules_message *asked,
                  const struct rules_verdict *verdict, struct remote_target *to) {
    const struct spill_reason *returned = message->returned;
    bool is_back = returned && returned->probed;
    if (!message_is_request(message) || (is_back && !returned->nobody))
        return false;
    if (!remote_target_may_go(shard, message, to)) {
        refuse_right(shard, message, RULE_CALL);
        return true;
    }
    if (!is_back || returned->first)
        return remote_route_probe(shard, message, to, true);
    refuse_route(shard, message, asked, verdict);
    return true;
}

// Its time begins once it is approved, and is what its source gave it: what had been left of that says nothing then.
static const struct held_message *hold_returned(struct shard *shard, const struct message *message) {
    struct unit unit = *message->frame->unit;
    struct frame frame = *message->frame;
    struct message own = *message;
    assert(message->returned);
    unit.directives = message->returned->given;
    frame.unit = &unit;
    own.frame = &frame;
    return gate_hold_begin(shard, &own);
}

static void keep(struct shard *shard, const struct message *message) {
    events_flush(shard); // what came before goes before
    const struct held_message *held =
        message->returned ? hold_returned(shard, message) : gate_hold_begin(shard, message);
    if (!held)
        return;
    if (message->returned && message->returned->outcome) // what comes of it has lines of its own
        audit_refused(shard, message, ERROR_APPROVAL_REQUIRED);
    announce(shard, held);
}

// That it is approved, if it is, that hub has been told.
void gate_hook_hold(struct shard *shard, const struct message *message) {
    assert(message->returned && message->returned->held);
    if (shard->gate && !message->approved)
        keep(shard, message);
    else
        refuse_for(shard, message, ERROR_APPROVAL_REQUIRED,
                   message->approved ? "another hub wants it approved, and it is"
                                     : "another hub wants it approved, and there is no gate here");
}

static bool names_held(struct shard *shard, const struct message *message,
                       const struct rules_message *asked) {
    return authz_holds(shard, message, asked) || (!lookup_has(&message->lookup, KEY_TARGET_AGENT) &&
                                                  notify_fanout_some(shard, message, authz_holds_at));
}

// By what this hub's file says of a user of another one's, it goes back there.
static bool hands_back(struct shard *shard, const struct message *message,
                       const struct rules_message *asked) {
    assert(message->peer->transport->is_link);
    if (remote_acl_check_is_approved(message) || gate_hold_exempts(message) || inbound_return_asks(message) ||
        !names_held(shard, message, asked))
        return false;
    inbound_return_hand_back(shard, message, NULL);
    return true;
}

// Nobody would say which agent a notification reaches at another hub: so where some are meant, it is held.
static bool might_reach_held(struct shard *shard, const struct message *message,
                             const struct rules_message *asked, enum reach reach,
                             const struct remote_target *to) {
    assert(!message_is_request(message));
    if (rules_is_event(asked))
        return false;
    if (!message_has_target(message) && notify_fanout_some_elsewhere(shard, message))
        return true;
    return reach == REACH_ELSEWHERE && (to->kind != SUBJECT_AGENT || to->first);
}

bool gate_hook_takes(struct shard *shard, const struct message *message, const struct rules_message *asked) {
    assert(shard->gate && shard->hub->settings.gate);
    if (message->approved)
        return false;
    if (names_our_event(message)) { // from another hub, too: none sends its own there
        refuse_pretence(shard, message);
        return true;
    }
    if (message->peer->transport->is_link)
        return hands_back(shard, message, asked);
    bool is_wanted = requires_approval(shard, message) || names_held(shard, message, asked);
    bool may_be = !is_wanted && !message_is_request(message) && shard->hub->settings.cluster &&
                  authz_holds_agents(shard, message);
    struct rules_verdict verdict;
    struct remote_target to;
    if ((!is_wanted && !may_be) || gate_hold_exempts(message))
        return false;
    enum reach reach = reach_of(shard, message, asked, &verdict, &to);
    if (may_be && !might_reach_held(shard, message, asked, reach, &to))
        return false;
    if (reach == REACH_NOBODY && is_wanted)
        return false;
    if (reach == REACH_ELSEWHERE && seeks(shard, message, asked, &verdict, &to))
        return true;
    keep(shard, message);
    return true;
}

bool gate_hook_takes_at(struct shard *shard, const struct message *message, const struct agent *agent) {
    assert(shard->gate && agent);
    if (message->approved || message->peer->transport->is_link || gate_hold_exempts(message) ||
        !authz_holds_at(shard, message, agent))
        return false;
    keep(shard, message);
    return true;
}
