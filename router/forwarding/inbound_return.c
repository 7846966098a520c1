#include "router/forwarding/inbound_return.h"

#include <assert.h>

#include "router/audit/audit.h"
#include "router/engine/request/refuse.h"
#include "router/engine/send/exchange.h"
#include "router/features/children/child_mux.h"
#include "router/features/gate/gate_hold.h"
#include "router/rights/authz.h"
#include "router/rights/remote_acl_check.h"

void inbound_return_hand_back(struct shard *shard, const struct message *message, const struct agent *agent) {
    struct exchange *exchange = message->exchange;
    assert(message->peer->transport->is_link);
    if (message_is_request(message) && exchange) {
        exchange->is_held = true;
        exchange_miss(shard, exchange);
        return;
    }
    struct text data;
    text_init(&data);
    reply_data_text(&data, "rule", "hold");
    audit_refusal(shard, message, ERROR_APPROVAL_REQUIRED, agent, &data);
    stats_count(&shard->stats, COUNT_GATE_REFUSED);
    refuse(shard, message, ERROR_APPROVAL_REQUIRED, &data);
}

static bool is_held_at(const struct shard *shard, const struct message *message, const struct agent *agent) {
    assert(agent);
    if (remote_acl_check_is_approved(message) || gate_hold_exempts(message))
        return false;
    return remote_acl_check_holds(message, agent) || (shard->gate && authz_holds_at(shard, message, agent));
}

// Who is there may support less than is required, which isn't asked.
static bool answer_probe(struct shard *shard, const struct message *message) {
    assert(message->exchange->probed && !message->exchange->is_held);
    message->exchange->is_found = true;
    if (message_is_request(message))
        exchange_miss(shard, message->exchange);
    return true;
}

bool inbound_return_asks(const struct message *message) {
    return message->exchange && message->exchange->probed;
}

bool inbound_return_settles_event(struct shard *shard, const struct message *message) {
    return inbound_return_asks(message) && answer_probe(shard, message);
}

bool inbound_return_settles(struct shard *shard, const struct message *message,
                            const struct rules_verdict *verdict) {
    assert(message->peer->transport->is_link && (verdict->error || verdict->agent));
    if (verdict->agent &&
        remote_acl_check_denies(message, verdict->agent)) { // by a name that it has got since
        refuse_right(shard, message, RULE_CALL);
        return true;
    }
    if (inbound_return_asks(message))
        return verdict->agent &&
               ((child_mux_is(verdict->agent) && child_mux_refuses(shard, message, verdict->agent)) ||
                answer_probe(shard, message));
    if (verdict->error || !is_held_at(shard, message, verdict->agent))
        return false;
    inbound_return_hand_back(shard, message, verdict->agent);
    return true;
}
