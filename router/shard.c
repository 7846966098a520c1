#include "router/shard.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>

#include "core/memory.h"
#include "router/answer.h"
#include "router/behind.h"
#include "router/drain.h"
#include "router/feed.h"
#include "router/inbox.h"
#include "router/journal.h"
#include "router/post.h"
#include "router/pressure.h"
#include "router/send.h"

enum {
    ACCEPT_PAUSE_MS = 100,
    STARVED_PAUSE_MS = 10,
    EXPIRED_A_TURN_MAX = 1024, // the others are due at once in the next one
};

// --- Opening and closing

static bool same_times(const struct limits *limits, const struct limits *others) {
    return limits->idle_timeout_ns == others->idle_timeout_ns &&
           limits->frame_timeout_ns == others->frame_timeout_ns;
}

// Other times hold for the connections that are open, too, from now on.
static void take_settings(struct shard *shard) {
    const struct hub_settings *before = shard->settings, *settings = hub_settings(shard->hub);
    if (settings == before)
        return;
    const struct limits *limits = &settings->limits;
    shard->settings = settings;
    shard->frame_limits = (struct frame_limits){limits->header_bytes_max, limits->frame_bytes_max};
    if (before && !same_times(limits, &before->limits))
        peers_rewatch(shard);
}

static uint32_t buffers_lent(const struct shard *shard) {
    return limits_buffers_lent(shard->settings->limits.memory_bytes_max, shard->hub->settings.shard_count);
}

// What is lent to the kernel, or lies at rest, was right for the bound before: where nothing arrives, nobody
// else would win it back.
static void follow_settings(struct shard *shard) {
    const struct hub_settings *before = shard->settings;
    take_settings(shard);
    if (shard->settings == before)
        return;
    io_lend(shard->io, buffers_lent(shard));
    buffer_pool_trim(&shard->buffers);
    parcel_pool_trim(&shard->parcels);
}

static void init_tables(struct shard *shard) {
    struct hub *hub = shard->hub;
    take_settings(shard);
    buffer_pool_init(&shard->buffers, &hub->budget);
    parcel_pool_init(&shard->parcels, &hub->budget, shard->index);
    sender_init(&shard->sender, &shard->buffers);
    kept_init(&shard->kept, &hub->budget);
    agents_init(&shard->agents, &hub->settings.secrets.tables, &shard->kept);
    pending_table_init(&shard->pending, shard->index, &shard->kept);
    list_init(&shard->to_send);
    list_init(&shard->starved);
    list_init(&shard->behind);
    list_init(&shard->closing);
    list_init(&shard->batches);
    untaken_init(&shard->untaken);
    shard->orders_last = &shard->orders;
    shard->entries_last = &shard->entries;
    timer_init(&shard->drain_timer, TIMER_DRAIN);
    timer_init(&shard->accept_timer, TIMER_ACCEPT);
    timer_init(&shard->shrink_timer, TIMER_SHRINK);
    timer_init(&shard->behind_timer, TIMER_BEHIND);
    atomic_init(&shard->asleep, false);
}

static int open_io(struct shard *shard, const char **why) {
    const struct hub_settings *settings = &shard->hub->settings;
    struct io_options options = {.pool = &shard->buffers,
                                 .buffers_lent = buffers_lent(shard),
                                 .backend = settings->io,
                                 .spin_ns = settings->spin_ns};
    int failed = io_open(&shard->io, &options, why);
    if (!failed)
        wheel_init(&shard->wheel, shard_now_ms(shard));
    return failed;
}

int shard_open(struct shard **out, struct hub *hub, uint32_t index, const char **why) {
    struct shard *shard = memory_take_aligned(alignof(struct shard), sizeof *shard);
    if (!shard) {
        *why = "memory is used up";
        return -ENOMEM;
    }
    shard->magic = SHARD_MAGIC;
    shard->index = index;
    shard->hub = hub;
    init_tables(shard);
    int failed = open_io(shard, why);
    if (failed) {
        memory_give(shard);
        return failed;
    }
    *out = hub->shards[index] = shard;
    return 0;
}

void shard_close(struct shard *shard) {
    assert(shard->magic == SHARD_MAGIC && shard->peers.count == 0);
    journal_close(shard);
    io_close(shard->io);
    sender_deinit(&shard->sender);
    pending_table_deinit(&shard->pending);
    agents_deinit(&shard->agents);
    kept_deinit(&shard->kept);
    parcel_pool_deinit(&shard->parcels);
    buffer_pool_deinit(&shard->buffers);
    memory_give(shard->peers.slots);
    memory_give(shard->peers.generations);
    memory_give(shard->peers.free);
    shard->magic = 0;
    memory_give(shard);
}

// --- Accepting

static void arm_accepts(struct shard *shard) {
    for (uint32_t index = 0; shard->phase == HUB_SERVING && index < shard->listener_count; index++) {
        if (shard->listening[index])
            continue;
        shard->listening[index] = true;
        io_accept(shard->io, shard->listeners[index], TOKEN_LISTENER | index);
    }
}

void shard_listen(struct shard *shard, const int *sockets, uint32_t count) {
    assert(count <= LISTENERS_MAX);
    for (uint32_t index = 0; index < count; index++)
        shard->listeners[index] = sockets[index];
    shard->listener_count = count;
    arm_accepts(shard);
    io_signals(shard->io, TOKEN_SIGNALS);
}

void shard_step_aside(struct shard *shard) {
    for (uint32_t index = 0; index < shard->listener_count; index++)
        io_step_aside(shard->io, shard->listeners[index]);
}

void shard_stop_listening(struct shard *shard) {
    for (uint32_t index = 0; index < shard->listener_count; index++) {
        io_shutdown(shard->io, shard->listeners[index], SHUT_RDWR);
        if (shard->listening[index])
            io_cancel(shard->io, shard->listeners[index], TOKEN_LISTENER | index);
    }
}

bool shard_is_listening(const struct shard *shard) {
    for (uint32_t index = 0; index < shard->listener_count; index++)
        if (shard->listening[index])
            return true;
    return false;
}

static void refuse_socket(struct shard *shard, int socket) {
    stats_count(&shard->stats, COUNT_CONNECTIONS_REFUSED);
    io_close_socket(shard->io, socket);
}

// Connections are spread by how many each shard has, not by chance.
static void place(struct shard *shard, int socket) {
    struct hub *hub = shard->hub;
    uint32_t to = hub_emptiest_shard(hub);
    struct adoption *adoption = NULL;
    bool full = hub_connection_count(hub) >= shard_limits(shard)->connections_max;
    if (!full && to != shard->index)
        adoption = memory_take_zeroed(1, sizeof *adoption);
    if (full || shard->phase != HUB_SERVING || (to != shard->index && !adoption)) {
        memory_give(adoption);
        refuse_socket(shard, socket);
        return;
    }
    atomic_fetch_add_explicit(&hub->connections[to], 1, memory_order_relaxed);
    if (to == shard->index) {
        peer_open(shard, socket);
        return;
    }
    adoption->socket = socket;
    adoption->mail.kind = MAIL_ADOPT;
    mailbox_post(hub_mailbox(hub, shard->index, to), &adoption->mail);
}

static void accepted(struct shard *shard, const struct io_event *event) {
    uint32_t index = (uint32_t)(event->token & ~TOKEN_LISTENER);
    shard->listening[index] = event->more;
    if (event->result >= 0)
        place(shard, event->result);
    else if (shard->phase == HUB_SERVING)
        stats_count(&shard->stats, COUNT_ACCEPT_FAILED);
    if (event->more || shard->phase != HUB_SERVING)
        return;
    // Out of descriptors or memory: trying again at once would fail again.
    if (event->result < 0)
        wheel_arm(&shard->wheel, &shard->accept_timer, shard_now_ms(shard) + ACCEPT_PAUSE_MS);
    else
        arm_accepts(shard);
}

// --- A turn

// It holds for the rest of this turn, too: whoever has seen the hub say so may have sent something since.
static void read_again(struct shard *shard) {
    journal_reopen(shard);
    if (!hub_reload(shard->hub))
        stats_count(&shard->stats, COUNT_RELOADS_FAILED);
    follow_settings(shard);
    shard_wake_others(shard);
}

static void signalled(struct shard *shard, int number) {
    if (number == SIGTERM || number == SIGINT)
        drain_asked(shard);
    else if (number == SIGHUP)
        read_again(shard);
}

static void handle(struct shard *shard, const struct io_event *event) {
    switch (event->kind) {
    case IO_RECEIVED:
        feed_event(shard, shard->peers.slots[event->token], event);
        break;
    case IO_SENT:
        send_sent(shard, shard->peers.slots[event->token], event->result);
        break;
    case IO_ACCEPTED:
        accepted(shard, event);
        break;
    case IO_SIGNAL:
        signalled(shard, event->result);
        break;
    case IO_GONE:
        peer_watched(shard, shard->peers.slots[event->token], event);
        break;
    case IO_WRITTEN:
    case IO_SYNCED:
        journal_event(shard, event);
        break;
    }
}

// Peers choose how many of their requests time out together, and nobody else waits for all of them.
static void expire(struct shard *shard) {
    uint64_t now_ms = shard_now_ms(shard);
    struct timer *timer;
    for (unsigned left = EXPIRED_A_TURN_MAX; left > 0 && (timer = wheel_expire(&shard->wheel, now_ms));
         left--) {
        switch ((enum timer_kind)timer->kind) {
        case TIMER_PENDING:
            answer_timed_out(shard, list_entry(timer, struct pending, timer));
            break;
        case TIMER_PEER:
            peer_timer(shard, list_entry(timer, struct peer, timer));
            break;
        case TIMER_ACCEPT:
            arm_accepts(shard);
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
    }
}

static uint64_t deadline_ns(const struct shard *shard) {
    uint64_t next_ms = wheel_next(&shard->wheel);
    if (!list_empty(&shard->starved) && shard_now_ms(shard) + STARVED_PAUSE_MS < next_ms)
        next_ms = shard_now_ms(shard) + STARVED_PAUSE_MS;
    return next_ms > UINT64_MAX / 1000000 ? UINT64_MAX : next_ms * 1000000;
}

void shard_wake(struct shard *shard, uint32_t other) {
    struct shard *sleeper = shard->hub->shards[other];
    if (atomic_load(&sleeper->asleep))
        io_wake(shard->io, sleeper->io);
}

void shard_wake_others(struct shard *shard) {
    for (uint32_t other = 0; other < shard->hub->settings.shard_count; other++)
        if (other != shard->index)
            shard_wake(shard, other);
}

static bool is_over(const struct shard *shard) {
    return shard->phase == HUB_STOPPED && shard->phase_done && atomic_load(&shard->hub->phase_waiting) == 0;
}

// Whether others have posted, ended or changed anything that this shard has not seen.
static bool has_news(struct shard *shard) {
    const struct hub *hub = shard->hub;
    return !post_quiet(shard) || atomic_load(&hub->phase) != shard->phase ||
           hub_settings(hub) != shard->settings || is_over(shard);
}

// Hands all that was noted to the kernel and waits. First says that this shard sleeps, then looks once more
// for news: whoever makes some later sees that it sleeps.
static void run(struct shard *shard) {
    uint64_t deadline = deadline_ns(shard);
    atomic_store(&shard->asleep, true);
    if (has_news(shard))
        deadline = 0;
    io_run(shard->io, deadline);
    atomic_store_explicit(&shard->asleep, false, memory_order_relaxed);
}

bool shard_turn(struct shard *shard) {
    run(shard);
    follow_settings(shard);
    stats_count(&shard->stats, COUNT_TURNS);
    stats_set(&shard->stats, COUNT_KERNEL_ENTRIES, io_entries(shard->io));
    for (struct io_event event; io_next(shard->io, &event);)
        handle(shard, &event);
    inbox_read(shard);
    expire(shard);
    drain_follow(shard);
    send_flush_all(shard);
    pressure_relieve(shard);
    feed_starved(shard);
    peers_reap(shard);
    journal_turn(shard);
    drain_report(shard);
    post_publish(shard);
    bool over = is_over(shard);
    if (over)
        io_run(shard->io, 0); // others may have to be woken for their last turn
    return !over;
}
