#include "router/features/gate/gate_release.h"

#include <assert.h>

#include "router/engine/request/refuse.h"
#include "router/engine/shard/feature.h"
#include "router/engine/shard/identity.h"
#include "router/engine/shard/option.h"
#include "router/features/feature_list.h"
#include "router/features/gate/gate_hold.h"
#include "router/features/gate/gate_hook.h"
#include "router/features/gate/gate_methods.h"
#include "router/features/gate/gate_query.h"
#include "router/forwarding/remote_route.h"
#include "router/routing/route.h"

// Routes a released message, for its own user. The message's level counts as satisfied for any target and subscriber.
// The header fields stay.
static void release(struct shard *shard, struct peer *peer, struct held_message *held) {
    struct unit unit;
    struct frame frame;
    struct message message;
    gate_hold_message(held, peer, &unit, &frame, &message);
    if (peer->transport->is_attached)
        message_narrow(&message);
    struct deferred_sender sender = {
        .user = held->user, .kind = (enum credential_kind)held->credential, .digest = &held->digest};
    struct deferred_identity previous;
    deferred_identity_begin(shard, peer, &sender, &frame, &previous);
    gate_hold_answer(held);
    route_approved(shard, &message);
    deferred_identity_end(peer, &previous);
    gate_hold_end(shard, held);
}

// Routes all released messages. The others have sources whose peers are ending, and end with these peers.
void gate_release_route(struct shard *shard) {
    struct list *all = &gate_of(shard)->released;
    for (struct list *node = all->next, *next; node != all; node = next) {
        struct held_message *held = list_entry(node, struct held_message, by_age);
        struct peer *peer = peer_find(shard, held->source);
        next = node->next;
        assert(held->is_released);
        if (peer)
            release(shard, peer, held);
    }
}

// --- Approvals, also in hubs without a gate

// Sends a decision to the hub that holds the message. An approver must not decide on a message of the same connection.
// With a users file, the hub that holds the message checks that.
static bool decide_remote(struct shard *shard, const struct message *message) {
    struct gate_place place;
    if (!hub_has_cluster(shard->hub) || !gate_methods_remote(shard, message, &place))
        return false;
    if (!shard->settings->users && remote_route_holds(message->peer, place.checkpoint, place.bytes))
        refuse_right(shard, message, RULE_OWN);
    else
        remote_route_decision(shard, message, &place.hub, place.checkpoint, place.bytes);
    return true;
}

static bool take_decision(struct shard *shard, const struct message *message) {
    return decide_remote(shard, message) || gate_methods_decide(shard, message);
}

static const struct feature_method approvals_methods[] = {
    {.name = "hub/approvals", .answer = gate_methods_list, .result_grows = true},
    {.name = "governance/approval", .take = take_decision, .refuse = gate_methods_refuse},
    {.name = NULL},
};

// --- The registration

static bool gate_is_on(const struct hub_settings *settings) {
    return settings->approval_level != 0;
}

static void gate_mail(struct shard *shard, struct mail *mail, unsigned kind) {
    assert(kind == GATE_MAIL_QUERY);
    (void)kind;
    gate_query_arrived(shard, mail);
}

static void gate_timer(struct shard *shard, struct timer *timer, unsigned kind) {
    assert(kind == GATE_TIMER_HELD);
    (void)kind;
    gate_hold_timed_out(shard, list_entry(timer, struct held_message, timer));
}

static void gate_drain(struct shard *shard) {
    assert(gate_of(shard) && shard->phase != HUB_SERVING);
    if (shard->phase == HUB_DRAINING)
        gate_hold_drain(shard);
}

static bool gate_has_work(const struct shard *shard) {
    assert(gate_of(shard));
    return !list_empty(&gate_of(shard)->released);
}

static bool gate_holds_phase(const struct shard *shard) {
    assert(gate_of(shard) && shard->phase != HUB_SERVING);
    return shard->phase != HUB_CLOSING &&
           (!list_empty(&gate_of(shard)->released) || gate_of(shard)->queries_out > 0);
}

static bool gate_has_request(struct shard *shard, const struct peer *peer, const uint8_t *text,
                             struct span id) {
    assert(id.bytes > 0);
    (void)shard;
    return gate_hold_find(peer, text, id) != NULL;
}

// Cancels a held request if it was held at since_ms or later. A pending request may have the same id; then the later of
// the two is cancelled.
static bool gate_cancel_request(struct shard *shard, const struct peer *peer, const uint8_t *text,
                                struct span id, uint64_t since_ms) {
    assert(id.bytes > 0);
    struct held_message *held = gate_hold_find(peer, text, id);
    if (!held || held->hold.since_ms < since_ms)
        return false;
    gate_hold_cancel(shard, held);
    return true;
}

// A word's index is its value.
static const char *const gate_levels[] = {"off", "human-in-the-loop", "manual", NULL};

static const struct option gate_options[] = {
    {"gate", OPTION_CHOICE, OPTIONS_RIGHTS, 0, OPTION_FIELD(approval_level), 0, 0, gate_levels, "LEVEL",
     "off", NULL, "hold messages that require this level or more until somebody approves them"},
    {"gate-wait", OPTION_TIME, OPTIONS_RIGHTS, OPTION_RELOADS, OPTION_OWN(FEATURE_GATE, GATE_OPTION_WAIT_NS),
     OPTION_MS, 24 * OPTION_HOUR, NULL, "TIME", "5m", NULL,
     "time that a held message waits for approval at most"},
    {"max-held", OPTION_COUNT, OPTIONS_RIGHTS, OPTION_RELOADS, OPTION_OWN(FEATURE_GATE, GATE_OPTION_HELD_MAX),
     1, 1u << 20, NULL, "N", "1000", NULL, "held messages at most; one source may have a quarter of them"},
    {.name = NULL},
};

static const struct stats_row gate_counters[GATE_COUNTERS + 1] = {
    [GATE_COUNT_HELD] = {"gate_held", "gate_held_total", NULL,
                         "Messages that were held until somebody approves them.", STATS_LAST},
    [GATE_COUNT_APPROVED] = {"gate_approved", "gate_ended_total", "reason=\"approved\"",
                             "Held messages that are held no more, by reason.", STATS_LAST},
    [GATE_COUNT_REJECTED] = {"gate_rejected", "gate_ended_total", "reason=\"rejected\"", NULL, STATS_LAST},
    [GATE_COUNT_REVISED] = {"gate_needs_revision", "gate_ended_total", "reason=\"needs_revision\"", NULL,
                            STATS_LAST},
    [GATE_COUNT_TIMED_OUT] = {"gate_timed_out", "gate_ended_total", "reason=\"timed_out\"", NULL, STATS_LAST},
    [GATE_COUNT_CANCELLED] = {"gate_cancelled", "gate_ended_total", "reason=\"cancelled\"", NULL, STATS_LAST},
    [GATE_COUNT_SOURCE_LEFT] = {"gate_source_left", "gate_ended_total", "reason=\"source_left\"", NULL,
                                STATS_LAST},
    [GATE_COUNT_DRAINED] = {"gate_drained", "gate_ended_total", "reason=\"drained\"", NULL, STATS_LAST},
    [GATE_COUNT_TARGET_REMOVED] = {"gate_target_removed", "gate_ended_total", "reason=\"target_removed\"",
                                   NULL, STATS_LAST},
};

static const struct stats_row gate_gauges[GATE_GAUGES + 1] = {
    [GATE_GAUGE_HELD] = {"held", "held_messages", NULL, "Messages that wait until somebody approves them.",
                         STATS_AFTER(GAUGE_BUFFERS)},
    [GATE_GAUGE_BYTES] = {"held_bytes", "held_bytes", NULL, "Bytes of memory that these take.",
                          STATS_AFTER(GAUGE_BUFFERS)},
};

const struct feature gate_feature = {
    .name = "gate",
    .methods = approvals_methods,
    .gauges = gate_gauges,
    .stats_order = 4,
    .is_on = gate_is_on,
    .options = gate_options,
    .shard_bytes = sizeof(struct gate),
    .hub_bytes = sizeof(struct gate_hub),
    .open = gate_open,
    .close = gate_close,
    .counters = gate_counters,
    .mail = gate_mail,
    .timer = gate_timer,
    .turn = gate_release_route,
    .has_work = gate_has_work,
    .peer_ended = gate_hold_leave,
    .drain = gate_drain,
    .holds_phase = gate_holds_phase,
    .rights_changed = gate_hold_review,
    .before_route = gate_hook_takes,
    .before_forward = gate_hook_takes_at,
    .has_request = gate_has_request,
    .cancel_request = gate_cancel_request,
};
