#include "router/engine/turn/turn.h"

#include <assert.h>
#include <signal.h>

#include "io/log.h"
#include "router/audit/audit.h"
#include "router/audit/journal.h"
#include "router/engine/receive/receive.h"
#include "router/engine/receive/tls_receive.h"
#include "router/engine/request/completion.h"
#include "router/engine/request/request_timeout.h"
#include "router/engine/send/send.h"
#include "router/engine/send/slow_reader.h"
#include "router/engine/shard/credential.h"
#include "router/engine/shard/feature_call.h"
#include "router/engine/shard/peer_cold.h"
#include "router/engine/shard/post.h"
#include "router/engine/shard/survey_scan.h"
#include "router/engine/turn/accept.h"
#include "router/engine/turn/drain.h"
#include "router/engine/turn/inbox.h"
#include "router/engine/turn/peer_teardown.h"
#include "router/engine/turn/peer_timeouts.h"
#include "router/engine/turn/pressure.h"
#include "router/engine/turn/read_fairness.h"
#include "router/engine/turn/watchdog.h"
#include "router/events/events.h"
#include "router/methods/rights_review.h"

enum {
    STARVED_PAUSE_MS = 10,
    EXPIRED_A_TURN_MAX = 1024, // the others are due at once in the next one
};

static bool same_times(const struct limits *limits, const struct limits *others) {
    return limits->idle_timeout_ns == others->idle_timeout_ns &&
           limits->frame_timeout_ns == others->frame_timeout_ns;
}

// Takes new settings. New limits of time hold for open connections, too. If --max-memory has fallen, buffers at the
// kernel and unused buffers are given back, since without arrivals nothing else would do that.
static void follow_settings(struct shard *shard) {
    const struct limits before = *shard_limits(shard); // the edition may be freed once another one is taken
    account_leases_empty(&shard->account_leases);      // the leases refer to the former users file
    if (!shard_take_settings(shard))
        return;
    rights_review_all(shard);
    if (!same_times(shard_limits(shard), &before))
        peer_timer_update_all(shard);
    shard->read_fairness.buffers_reduced = false;
    io_provide_buffers(shard->io, shard_buffers_provided(shard));
    buffer_pool_trim(&shard->buffers);
    parcel_pool_trim(&shard->parcels);
}

static void give_notice(const struct shard *shard, enum hub_notice notice) {
    const struct hub_settings *settings = &shard->hub->start_settings;
    assert(shard->index == 0);
    if (settings->notice)
        settings->notice(settings->read_context, notice);
}

// Takes the new settings, which hold for the rest of this turn, too: a peer that was told of the reload may have sent a
// message since.
static void turn_read_again(struct shard *shard) {
    give_notice(shard, HUB_RELOADS);
    journal_reopen(shard);
    if (!hub_reload(shard->hub, shard_now_ms(shard)))
        stats_count(&shard->stats, COUNT_RELOADS_FAILED);
    follow_settings(shard);
    feature_reloaded(shard);
    shard_wake_others(shard);
    give_notice(shard, HUB_IS_READY);
}

static void signalled(struct shard *shard, int number) {
    assert(shard->index == 0);
    if (number == SIGTERM || number == SIGINT) {
        give_notice(shard, HUB_STOPS);
        drain_asked(shard);
    } else if (number == SIGHUP) {
        turn_read_again(shard);
    }
}

// Returns the event's peer, which is there until the kernel has let it go.
static struct peer *peer_of(const struct shard *shard, const struct io_event *event) {
    assert(event->token < shard->peers.capacity && shard->peers.slots[event->token]);
    return shard->peers.slots[event->token];
}

static void take_event(struct shard *shard, const struct io_event *event) {
    assert(event->token >= FEATURE_TOKENS_FROM);
    feature_take_event(shard, event);
    if (atomic_load(&shard->hub->failed))
        drain_begin(shard);
}

static void handle(struct shard *shard, const struct io_event *event) {
    assert(!shard->teardown && !shard->event_run.count);
    switch (event->kind) {
    case IO_RECEIVED:
        if (event->token >= FEATURE_TOKENS_FROM)
            take_event(shard, event);
        else
            read_fairness_handle_arrival(shard, peer_of(shard, event), event);
        break;
    case IO_SENT:
        if (event->token >= FEATURE_TOKENS_FROM) {
            take_event(shard, event);
            break;
        }
        read_fairness_note_other_work(shard);
        send_sent(shard, peer_of(shard, event), event->result);
        break;
    case IO_ACCEPTED:
        accept_event(shard, event);
        break;
    case IO_SIGNAL:
        signalled(shard, event->result);
        break;
    case IO_GONE:
        receive_watched(shard, peer_of(shard, event), event);
        break;
    case IO_CONNECTED:
        take_event(shard, event);
        break;
    case IO_WRITTEN:
    case IO_SYNCED:
        journal_event(shard, event);
        feature_entries_settled(shard);
        break;
    }
    peer_teardown_carry_out(shard);
}

static void run_survey(struct shard *shard) {
    if (!survey_go_on(shard))
        return;
    feature_survey(shard);
    survey_finish(shard);
}

// Handles timers that have expired, a bounded number a turn: peers choose how many of their requests time out together,
// and no other peer waits for all of them.
static void expire(struct shard *shard) {
    uint64_t now_ms = shard_now_ms(shard);
    struct timer *timer;
    for (unsigned left = EXPIRED_A_TURN_MAX; left > 0 && (timer = wheel_expire(&shard->wheel, now_ms));
         left--) {
        assert(!timer_armed(timer));
        switch ((enum timer_kind)timer->kind) {
        case TIMER_PENDING:
            request_timeout_expired(shard, list_entry(timer, struct pending, timer));
            break;
        case TIMER_PEER:
            peer_timeouts_expired(shard, list_entry(timer, struct peer, timer));
            break;
        case TIMER_ACCEPT:
            accept_timer_expired(shard);
            break;
        case TIMER_DRAIN:
            drain_timed_out(shard);
            break;
        case TIMER_SHRINK:
            pressure_shrink(shard);
            break;
        case TIMER_SLOW_READER:
            slow_reader_look(shard);
            break;
        case TIMER_TRANSPORT:
            peer_timeouts_transport_expired(shard, list_entry(timer, struct peer_cold, timer));
            break;
        case TIMER_SURVEY:
            run_survey(shard);
            break;
        case TIMER_IDENTITY:
            peer_timeouts_identity_expired(shard, list_entry(timer, struct identity, timer));
            break;
        case TIMER_REFUSALS:
            audit_report_suppressed(shard);
            break;
        case TIMER_JOURNAL:
            journal_report_lost(shard);
            break;
        case TIMER_WATCHDOG:
            watchdog_look(shard);
            break;
        case TIMER_LOG:
            log_tell_suppressed();
            break;
        default:
            feature_take_timer(shard, timer);
            break;
        }
        peer_teardown_carry_out(shard);
    }
}

static uint64_t deadline_ns(const struct shard *shard) {
    uint64_t next_ms = wheel_next(&shard->wheel);
    if ((!list_empty(&shard->starved) || !list_empty(&shard->receive_queue)) &&
        shard_now_ms(shard) + STARVED_PAUSE_MS < next_ms)
        next_ms = shard_now_ms(shard) + STARVED_PAUSE_MS;
    uint64_t next_ns = next_ms > UINT64_MAX / 1000000 ? UINT64_MAX : next_ms * 1000000;
    uint64_t sends_ns = send_goes_on_ns(shard);
    return sends_ns < next_ns ? sends_ns : next_ns;
}

static bool is_over(const struct shard *shard) {
    return shard->phase == HUB_STOPPED && shard->phase_done && atomic_load(&shard->hub->phase_waiting) == 0;
}

// Returns whether the shard must not sleep: other shards have posted, ended or changed anything that this shard has not
// seen, or this shard has queued anything behind the sends of its turn. A peer that is closed for memory's sake may
// have asked others. Missed events are told as soon as another shard has read its mail.
static bool has_work(struct shard *shard) {
    const struct hub *hub = shard->hub;
    return !post_quiet(shard) || shard->missed || !list_empty(&shard->presence.changes) ||
           shard->missed_unnamed || !list_empty(&shard->to_send) || send_goes_on_ns(shard) == 0 ||
           read_fairness_is_ready(shard) || shard->receives_due || !list_empty(&shard->abandoned) ||
           survey_due(shard) || !list_empty(&shard->waiting_handshakes) || shard->settled ||
           feature_has_work(shard) || atomic_load(&hub->phase) != shard->phase ||
           hub_settings(hub) != shard->settings || is_over(shard) ||
           atomic_load_explicit(&hub->events_unknown, memory_order_relaxed) !=
               shard->remote_link.events_unknown;
}

// Submits all entries to the kernel, and waits. First notes that this shard sleeps, then looks once more for work: a
// shard that posts later sees that this one sleeps.
static void submit_and_wait(struct shard *shard) {
    uint64_t deadline = deadline_ns(shard);
    assert(!shard->teardown && !shard->event_run.count && !atomic_load(&shard->asleep) &&
           !shard->account_leases.open);
    atomic_store(&shard->asleep, true);
    if (has_work(shard))
        deadline = 0;
    io_run(shard->io, deadline);
    shard_read_clock(shard);
    atomic_store_explicit(&shard->asleep, false, memory_order_relaxed);
}

// Collects arrivals that have come while the turn was reading, for the same turn. They go out with those before: fewer
// sends, each with more. Mail that was posted before them is read before them, as between two turns: a peer that
// another shard has answered may ask at once for the consequences. Returns whether there were arrivals.
static bool look_again(struct shard *shard, unsigned looks) {
    assert(!shard->teardown && !shard->event_run.count);
    if (looks == LOOKS_AGAIN_MAX || !io_has_arrivals(shard->io))
        return false;
    io_poll(shard->io);
    inbox_read_mail(shard);
    read_fairness_note_other_work(shard); // the time that this took is nobody's
    return true;
}

static void take_events(struct shard *shard) {
    unsigned looks = 0;
    assert(!shard->teardown);
    do {
        for (struct io_event event; io_next(shard->io, &event);)
            handle(shard, &event);
    } while (look_again(shard, looks++));
}

static void take_steps(struct shard *shard, void (*const *steps)(struct shard *shard)) {
    for (unsigned at = 0; steps[at]; at++) {
        steps[at](shard);
        peer_teardown_carry_out(shard);
    }
}

// Takes up new settings, notes the turn's time, and resumes TLS handshakes. A thread may have several shards, which
// have had their turns meanwhile.
static void begin_turn(struct shard *shard) {
    users_judge_by(shard->settings->users);
    follow_settings(shard);
    stats_count(&shard->stats, COUNT_TURNS);
    stats_set(&shard->stats, COUNT_KERNEL_ENTRIES, io_entries(shard->io));
    stats_set(&shard->stats, COUNT_WAITS_HELD, io_held_waits(shard->io));
    shard->parcels.now_us = shard_us(io_now(shard->io));
    feature_turn_begins(shard);
    tls_receive_resume_handshakes(shard);
    peer_teardown_carry_out(shard);
}

// Reads what the kernel has for the shard: events, and then arrivals that had to wait, one peer after the other.
static void read_arrivals(struct shard *shard) {
    read_fairness_begin(shard);
    take_events(shard);
    while (read_fairness_serve_next(shard))
        peer_teardown_carry_out(shard);
    read_fairness_update_buffers(shard);
}

// Handles mail of other shards and timers, and goes on with what takes several turns. The phase is read first: all mail
// that was posted before that phase began is then handled here.
static void handle_mail_and_timers(struct shard *shard) {
    enum hub_phase phase = hub_phase(shard->hub);
    inbox_read(shard);
    if (shard->review_due)
        rights_review_all(shard);
    survey_follow(shard);
    expire(shard);
    completion_abandon_on(shard);
    feature_entries_settled(shard);
    peer_teardown_carry_out(shard);
    drain_follow(shard, phase);
    peer_teardown_carry_out(shard);
    take_steps(shard, shard->features->turn);
    presence_event_follow(shard);
    events_follow(shard);
    peer_teardown_carry_out(shard);
    take_steps(shard, shard->features->turn_ends);
}

// Sends what the turn has queued, and then takes care that there is memory for the next arrivals. The leases of
// accounts end before the sends: nobody may know the turn's outcome earlier than the accounts.
static void send_and_relieve(struct shard *shard) {
    account_leases_empty(&shard->account_leases);
    send_flush_all(shard);
    peer_teardown_carry_out(shard);
    pressure_relieve(shard);
    peer_teardown_carry_out(shard);
    receive_resume(shard);
    peer_teardown_carry_out(shard);
    peer_teardown_reap(shard);
}

// Writes the journal, publishes the shard's numbers and posts its mail. A user may be freed before the next turn, so no
// lease stays. The drain is reported last: the next phase begins behind what was posted in this one.
static void end_turn(struct shard *shard) {
    journal_turn(shard);
    if (shard->settings->users)
        identity_publish(shard);
    account_leases_empty(&shard->account_leases);
    stats_gauge(&shard->stats, GAUGE_PENDING, shard->pending.count);
    stats_gauge(&shard->stats, GAUGE_BUFFERS, shard->buffers.made);
    post_publish(shard);
    drain_report(shard);
}

bool turn_take(struct shard *shard) {
    submit_and_wait(shard);
    begin_turn(shard);
    read_arrivals(shard);
    handle_mail_and_timers(shard);
    send_and_relieve(shard);
    end_turn(shard);
    bool over = is_over(shard);
    assert(!over || (!shard->peers.count && !shard->orders_out && !shard->entries_out && !shard->events_out));
    if (over)
        io_run(shard->io, 0); // others may have to be woken for their last turn
    return !over;
}
