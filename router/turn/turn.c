#include "router/turn/turn.h"

#include <assert.h>
#include <signal.h>

#include "router/request/answer.h"
#include "router/request/journal.h"
#include "router/route/audit_log.h"
#include "router/route/events.h"
#include "router/send/behind.h"
#include "router/send/send.h"
#include "router/shard/post.h"
#include "router/transport/feed.h"
#include "router/turn/accept.h"
#include "router/turn/drain.h"
#include "router/turn/endings.h"
#include "router/turn/inbox.h"
#include "router/turn/pressure.h"
#include "router/turn/timing.h"

enum {
    STARVED_PAUSE_MS = 10,
    EXPIRED_A_TURN_MAX = 1024, // the others are due at once in the next one
};

static bool same_times(const struct limits *limits, const struct limits *others) {
    return limits->idle_timeout_ns == others->idle_timeout_ns &&
           limits->frame_timeout_ns == others->frame_timeout_ns;
}

// Other times hold for the connections that are open, too, from now on.
//
// What is lent to the kernel, or lies at rest, was right for the bound before: where nothing arrives, nobody
// else would win it back.
static void follow_settings(struct shard *shard) {
    const struct limits *before = shard_limits(shard);
    if (!shard_take_settings(shard))
        return;
    if (!same_times(shard_limits(shard), before))
        peers_rewatch(shard);
    io_lend(shard->io, shard_buffers_lent(shard));
    buffer_pool_trim(&shard->buffers);
    parcel_pool_trim(&shard->parcels);
}

// It holds for the rest of this turn, too: whoever has seen the hub say so may have sent something since.
static void turn_read_again(struct shard *shard) {
    journal_reopen(shard);
    if (!hub_reload(shard->hub))
        stats_count(&shard->stats, COUNT_RELOADS_FAILED);
    follow_settings(shard);
    shard_wake_others(shard);
}

static void signalled(struct shard *shard, int number) {
    assert(shard->index == 0);
    if (number == SIGTERM || number == SIGINT)
        drain_asked(shard);
    else if (number == SIGHUP)
        turn_read_again(shard);
}

// It is there until the kernel has let it go.
static struct peer *peer_of(const struct shard *shard, const struct io_event *event) {
    assert(event->token < shard->peers.capacity && shard->peers.slots[event->token]);
    return shard->peers.slots[event->token];
}

static void handle(struct shard *shard, const struct io_event *event) {
    assert(!shard->endings && !shard->run.count);
    switch (event->kind) {
    case IO_RECEIVED:
        feed_event(shard, peer_of(shard, event), event);
        break;
    case IO_SENT:
        send_sent(shard, peer_of(shard, event), event->result);
        break;
    case IO_ACCEPTED:
        accept_event(shard, event);
        break;
    case IO_SIGNAL:
        signalled(shard, event->result);
        break;
    case IO_GONE:
        feed_watched(shard, peer_of(shard, event), event);
        break;
    case IO_WRITTEN:
    case IO_SYNCED:
        journal_event(shard, event);
        audit_log_settle(shard);
        break;
    }
    endings_carry_out(shard);
}

// Peers choose how many of their requests time out together, and nobody else waits for all of them.
static void expire(struct shard *shard) {
    uint64_t now_ms = shard_now_ms(shard);
    struct timer *timer;
    for (unsigned left = EXPIRED_A_TURN_MAX; left > 0 && (timer = wheel_expire(&shard->wheel, now_ms));
         left--) {
        assert(timer->kind <= TIMER_BEHIND && !timer_armed(timer));
        switch ((enum timer_kind)timer->kind) {
        case TIMER_PENDING:
            answer_timed_out(shard, list_entry(timer, struct pending, timer));
            break;
        case TIMER_PEER:
            timing_expired(shard, list_entry(timer, struct peer, timer));
            break;
        case TIMER_ACCEPT:
            accept_arm(shard);
            break;
        case TIMER_DRAIN:
            drain_timed_out(shard);
            break;
        case TIMER_SHRINK:
            pressure_shrink(shard);
            break;
        case TIMER_BEHIND:
            behind_look(shard);
            break;
        }
        endings_carry_out(shard);
    }
}

static uint64_t deadline_ns(const struct shard *shard) {
    uint64_t next_ms = wheel_next(&shard->wheel);
    if (!list_empty(&shard->starved) && shard_now_ms(shard) + STARVED_PAUSE_MS < next_ms)
        next_ms = shard_now_ms(shard) + STARVED_PAUSE_MS;
    return next_ms > UINT64_MAX / 1000000 ? UINT64_MAX : next_ms * 1000000;
}

static bool is_over(const struct shard *shard) {
    return shard->phase == HUB_STOPPED && shard->phase_done && atomic_load(&shard->hub->phase_waiting) == 0;
}

// Whether others have posted, ended or changed anything that this shard has not seen, or it has itself queued
// something behind the sends of its turn: who is closed for memory's sake had asked others. Events that were
// missed are told of as soon as another one has read its mail.
static bool has_news(struct shard *shard) {
    const struct hub *hub = shard->hub;
    return !post_quiet(shard) || shard->misses || shard->missed_unnamed || !list_empty(&shard->to_send) ||
           atomic_load(&hub->phase) != shard->phase || hub_settings(hub) != shard->settings || is_over(shard);
}

// Hands all that was noted to the kernel and waits. First says that this shard sleeps, then looks once more
// for news: whoever makes some later sees that it sleeps.
static void run(struct shard *shard) {
    uint64_t deadline = deadline_ns(shard);
    assert(!shard->endings && !shard->run.count && !atomic_load(&shard->asleep));
    atomic_store(&shard->asleep, true);
    if (has_news(shard))
        deadline = 0;
    io_run(shard->io, deadline);
    atomic_store_explicit(&shard->asleep, false, memory_order_relaxed);
}

bool turn_take(struct shard *shard) {
    run(shard);
    follow_settings(shard);
    stats_count(&shard->stats, COUNT_TURNS);
    stats_set(&shard->stats, COUNT_KERNEL_ENTRIES, io_entries(shard->io));
    for (struct io_event event; io_next(shard->io, &event);)
        handle(shard, &event);
    inbox_read(shard);
    expire(shard);
    drain_follow(shard);
    endings_carry_out(shard);
    events_follow(shard);
    send_flush_all(shard);
    endings_carry_out(shard);
    pressure_relieve(shard);
    endings_carry_out(shard);
    feed_starved(shard);
    endings_carry_out(shard);
    endings_reap(shard);
    journal_turn(shard);
    drain_report(shard);
    post_publish(shard);
    bool over = is_over(shard);
    assert(!over || (!shard->peers.count && !shard->orders_out && !shard->entries_out && !shard->events_out));
    if (over)
        io_run(shard->io, 0); // others may have to be woken for their last turn
    return !over;
}
