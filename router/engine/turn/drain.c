#include "router/engine/turn/drain.h"

#include <assert.h>

#include "router/engine/request/completion.h"
#include "router/engine/shard/feature_call.h"
#include "router/engine/shard/peer.h"
#include "router/engine/shard/post.h"
#include "router/engine/turn/accept.h"

static void begin_phase(struct shard *shard, enum hub_phase phase) {
    struct hub *hub = shard->hub;
    assert(phase == hub_phase(hub) + 1 && phase <= HUB_STOPPED);
    atomic_store_explicit(&hub->phase_waiting, hub->start_settings.shard_count, memory_order_relaxed);
    atomic_store(&hub->phase, phase);
    shard_wake_others(shard);
}

void drain_begin(struct shard *shard) {
    if (hub_phase(shard->hub) == HUB_SERVING)
        begin_phase(shard, HUB_DRAINING);
}

void drain_asked(struct shard *shard) {
    bool handing_over = timer_armed(&shard->drain_timer);
    assert(shard->index == 0);
    bool has_next = shard->hub->start_settings.share_addresses || accept_has_passed(shard);
    if (has_next && shard->phase == HUB_SERVING && !handing_over) {
        accept_hand_over(shard);
        wheel_arm(&shard->wheel, &shard->drain_timer, shard_now_ms(shard) + HANDOVER_MS);
        return;
    }
    drain_begin(shard);
}

// Half-closes all connections, so that peers can read what was sent before their connections end.
static void close_all(struct shard *shard) {
    assert(shard->phase == HUB_CLOSING);
    for (uint32_t slot = 0; slot < shard->peers.capacity; slot++)
        if (shard->peers.slots[slot] && !shard->peers.slots[slot]->transport->ops.wanted)
            peer_linger(shard, shard->peers.slots[slot]);
}

// Makes all mail of this shard visible to its readers at once, since no phase ends before all mail has been read.
static void expedite_mail(struct shard *shard) {
    for (uint32_t to = 0; to < shard->hub->start_settings.shard_count; to++)
        mailbox_expedite(hub_mailbox(shard->hub, shard->index, to));
}

static void drain_enter(struct shard *shard, enum hub_phase phase) {
    assert(phase == shard->phase + 1 && (shard->phase == HUB_SERVING || shard->phase_done));
    expedite_mail(shard);
    shard->phase = phase;
    shard->phase_done = false;
    if (phase == HUB_DRAINING) {
        accept_stop(shard);
        feature_drain(shard);
        completion_end_endless_all(shard);
        wheel_arm(&shard->wheel, &shard->drain_timer,
                  shard_now_ms(shard) + shard_limits(shard)->drain_timeout_ns / 1000000);
    } else if (phase == HUB_CLOSING) {
        accept_stop(shard);
        feature_drain(shard);
        close_all(shard);
    }
}

static bool all_are_home(const struct shard *shard) {
    return shard->events_out == 0 && shard->remote_queries_out == 0 && !shard->missed &&
           !shard->missed_unnamed && list_empty(&shard->presence.changes);
}

// Returns whether all answers have also been written: no outbox holds anything, or its peer doesn't read
// within the drain's time.
static bool drain_all_sent(const struct shard *shard) {
    for (uint32_t slot = 0; slot < shard->peers.capacity; slot++) {
        const struct peer *peer = shard->peers.slots[slot];
        if (peer && !peer->connection.paused &&
            (peer->connection.send_op || !outbox_empty(&peer->connection.outbox)))
            return false;
    }
    return true;
}

static bool finished(struct shard *shard) {
    assert(shard->phase != HUB_SERVING && !shard->phase_done);
    switch (shard->phase) {
    case HUB_DRAINING:
        return shard->drain_over ||
               (shard->pending.count == 0 && shard->entries_out == 0 && all_are_home(shard) &&
                !feature_holds_phase(shard) && post_quiet(shard) && drain_all_sent(shard));
    case HUB_CLOSING:
        return shard->peers.count == 0 && !accept_is_listening(shard) && !feature_holds_phase(shard);
    case HUB_STOPPED:
        return parcel_pool_full(&shard->parcels) && shard->orders_out == 0 && shard->entries_out == 0 &&
               all_are_home(shard) && !shard->loopback_mail && !feature_holds_phase(shard) &&
               post_quiet(shard);
    default:
        return false;
    }
}

static void report_phase(struct shard *shard) {
    struct hub *hub = shard->hub;
    assert(hub_phase(hub) == shard->phase && atomic_load(&hub->phase_waiting) > 0);
    shard->phase_done = true;
    if (atomic_fetch_sub(&hub->phase_waiting, 1) != 1)
        return;
    if (shard->phase == HUB_STOPPED)
        shard_wake_others(shard);
    else
        begin_phase(shard, shard->phase + 1);
}

void drain_follow(struct shard *shard, enum hub_phase phase) {
    if (phase != shard->phase)
        drain_enter(shard, phase);
}

void drain_report(struct shard *shard) {
    if (shard->phase != HUB_SERVING && !shard->phase_done && finished(shard))
        report_phase(shard);
}

// Ends the requests that are still pending, with an error, and gives the errors LINGER_MS to be written. Peers that
// don't read the errors are closed with them unread.
void drain_timed_out(struct shard *shard) {
    assert(!timer_armed(&shard->drain_timer));
    if (shard->phase == HUB_SERVING) {
        drain_begin(shard);
        return;
    }
    if (shard->phase != HUB_DRAINING || shard->phase_done)
        return;
    if (shard->pending.count == 0 && !feature_has_pending(shard)) {
        shard->drain_over = true;
        return;
    }
    completion_end_all(shard);
    feature_end_pending(shard);
    wheel_arm(&shard->wheel, &shard->drain_timer, shard_now_ms(shard) + LINGER_MS);
}
