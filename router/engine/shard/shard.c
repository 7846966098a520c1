#include "router/engine/shard/shard.h"

#include <assert.h>
#include <errno.h>

#include "core/base/memory.h"
#include "core/rights/users.h"
#include "router/engine/shard/feature.h"
#include "router/engine/shard/publication_types.h"

// --- Opening and closing

void shard_set_hub(struct shard *shard) {
    struct remote_link *across = &shard->remote_link;
    const struct hub *hub = shard->hub;
    char node[NODE_BYTES];
    assert(hub_has_cluster(hub));
    hub_node(hub, node);
    hub_name_write(&across->hub, node, atomic_load_explicit(&hub->link_number, memory_order_relaxed));
    answer_subject_write(&across->answers, hub->start_settings.cluster.name, &across->hub);
}

void shard_set_link(struct shard *shard, uint64_t connection) {
    struct registrant *registrant = &shard->remote_link.registrant;
    assert(connection && !registrant->connection && list_empty(&registrant->pending));
    shard_set_hub(shard);
    registrant->connection = connection;
    registrant->leaving = false;
}

void shard_read_clock(struct shard *shard) {
    uint64_t now_ns = io_now(shard->io);
    shard->now_ms = now_ns / 1000000;
    shard->minute = (uint32_t)(now_ns / UINT64_C(60000000000)) + 1;
}

bool shard_take_settings(struct shard *shard) {
    const struct hub_edition *edition = atomic_load(&shard->hub->edition);
    const struct hub_settings *before = shard->settings, *settings = &edition->settings;
    if (settings == before)
        return false;
    const struct limits *limits = &settings->limits;
    assert(shard->magic == SHARD_MAGIC && settings->shard_count == shard->hub->start_settings.shard_count);
    shard->settings = settings;
    users_judge_by(settings->users);
    atomic_store_explicit(&shard->hub->taken_up[shard->index], edition->number, memory_order_release);
    shard->unit_limits = (struct unit_limits){limits->header_bytes_max, limits->frame_bytes_max};
    shard->unauthenticated_limits = shard->unit_limits;
    if (limits->frame_bytes_max > UNAUTHENTICATED_FRAME_BYTES_MAX)
        shard->unauthenticated_limits.body_bytes_max = UNAUTHENTICATED_FRAME_BYTES_MAX;
    return true;
}

uint32_t shard_buffers_provided(const struct shard *shard) {
    return limits_buffers_provided(shard->settings->limits.memory_bytes_max,
                                   shard->hub->start_settings.shard_count);
}

uint32_t shard_buffers_now(const struct shard *shard) {
    uint32_t all = shard_buffers_provided(shard);
    return shard->read_fairness.buffers_reduced ? all / 4 : all;
}

static void init_tables(struct shard *shard) {
    struct hub *hub = shard->hub;
    shard->features = hub->features;
    shard_take_settings(shard);
    buffer_pool_init(&shard->buffers, &hub->budget);
    parcel_pool_init(&shard->parcels, &hub->budget, shard->index);
    quota_init(&shard->quota, &hub->budget);
    if (hub->start_settings.shard_count * QUOTA_LITTLE_BYTES > shard->quota.little_bytes)
        shard->quota.little_bytes = hub->start_settings.shard_count * QUOTA_LITTLE_BYTES;
    quota_init_beside(&shard->connection_quota, &hub->budget);
    agents_init(&shard->agents, &hub->start_settings.secrets.tables, &shard->quota);
    shard->agents.shard = shard->index;
    shard->agents.shares = shard->index == 0 ? &hub->shares : NULL;
    shard->agents.topics.demand = hub->demand;
    shard->agents.topics.of_hub = &hub->presence_subscriptions;
    pending_table_init(&shard->pending, shard->index, &shard->quota);
    list_init(&shard->remote_link.registrant.pending);
    list_init(&shard->remote_link.registrant.agents);
    list_init(&shard->remote_link.registrant.streams);
    list_init(&shard->remote_link.registrant.link);
    list_init(&shard->attach_queries);
    list_init(&shard->to_send);
    turn_bounds_defaults(&shard->bounds);
    if (hub->start_settings.bounds)
        shard->bounds = *hub->start_settings.bounds;
    sender_init(&shard->sender, &shard->buffers, &shard->bounds);
    shard->ends_left = shard->bounds.request_ends_max;
    turn_parts_begin(&shard->read_fairness.parts, &shard->bounds);
    list_init(&shard->fanout_sends.waiting);
    list_init(&shard->fanout_sends.marker);
    shard->fanout_sends.round = 1;
    list_init(&shard->read_fairness.new_peers);
    list_init(&shard->read_fairness.in_deficit);
    list_init(&shard->starved);
    list_init(&shard->receive_queue);
    list_init(&shard->waiting_handshakes);
    list_init(&shard->slow_readers);
    list_init(&shard->abandoned);
    list_init(&shard->closing);
    list_init(&shard->unauthenticated);
    shard->teardown_last = &shard->teardown;
    list_init(&shard->exchanges);
    rejects_init(&shard->rejects);
    survey_init(&shard->survey, TIMER_SURVEY);
    shard->orders_last = &shard->orders;
    shard->loopback_mail_last = &shard->loopback_mail;
    list_init(&shard->barrier);
    list_init(&shard->directory_queries);
    list_init(&shard->presence.changes);
    shard->entries_last = &shard->entries;
    timer_init(&shard->drain_timer, TIMER_DRAIN);
    timer_init(&shard->accept_timer, TIMER_ACCEPT);
    timer_init(&shard->shrink_timer, TIMER_SHRINK);
    timer_init(&shard->slow_reader_timer, TIMER_SLOW_READER);
    timer_init(&shard->refusals_timer, TIMER_REFUSALS);
    timer_init(&shard->journal_timer, TIMER_JOURNAL);
    timer_init(&shard->watchdog_timer, TIMER_WATCHDOG);
    timer_init(&shard->log_timer, TIMER_LOG);
    atomic_init(&shard->asleep, false);
}

static bool make_reserve(struct shard *shard) {
    size_t bytes =
        sizeof(struct publication) + shard->hub->start_settings.shard_count * sizeof(struct publication_copy);
    for (unsigned left = RESERVE_COUNT; left > 0; left--) {
        struct publication *publication = memory_take_zeroed(1, bytes + EVENT_BYTES_MAX);
        if (!publication)
            return false;
        publication->next = shard->reserve;
        shard->reserve = publication;
    }
    return true;
}

static void give_reserve(struct shard *shard) {
    for (struct publication *publication; (publication = shard->reserve);) {
        shard->reserve = publication->next;
        memory_give(publication);
    }
}

static int open_io(struct shard *shard, const char **why) {
    const struct hub_settings *settings = &shard->hub->start_settings;
    struct io_options options = {.pool = &shard->buffers,
                                 .buffers_provided = shard_buffers_provided(shard),
                                 .backend = settings->io,
                                 .spin_ns = settings->spin_ns,
                                 .hold_ns = settings->hold_ns,
                                 .restricted = settings->sandbox.mode != SANDBOX_OFF};
    int failed = io_open(&shard->io, &options, why);
    if (failed)
        return failed;
    shard_read_clock(shard);
    wheel_init(&shard->wheel, shard_now_ms(shard));
    if (shard->index == 0)
        shard->hub->began_ms = shard_now_ms(shard);
    return failed;
}

static void close_feature(struct shard *shard, unsigned number) {
    const struct feature *feature = shard->features->by_number[number];
    if (feature && feature->close)
        feature->close(shard);
    memory_give(shard->states[number]);
    shard->states[number] = NULL;
}

static void close_features_below(struct shard *shard, unsigned number) {
    while (number-- > 0)
        close_feature(shard, number);
}

// Opens a feature on this shard. The feature's state is zeroed memory.
static bool open_feature(struct shard *shard, unsigned number) {
    const struct feature *feature = shard->features->by_number[number];
    if (feature && feature->shard_bytes) {
        shard->states[number] = memory_take_zeroed(1, feature->shard_bytes);
        if (!shard->states[number])
            return false;
    }
    if (!feature || !feature->open || feature->open(shard))
        return true;
    memory_give(shard->states[number]);
    shard->states[number] = NULL;
    return false;
}

static bool open_features(struct shard *shard) {
    for (unsigned number = 0; number < FEATURES_MAX; number++) {
        if (open_feature(shard, number))
            continue;
        close_features_below(shard, number);
        return false;
    }
    return true;
}

static void close_features(struct shard *shard) {
    close_features_below(shard, FEATURES_MAX);
}

int shard_open(struct shard **out, struct hub *hub, uint32_t index, const char **why) {
    assert(index < hub->start_settings.shard_count);
    struct shard *shard = memory_take_aligned(alignof(struct shard), sizeof *shard);
    if (!shard) {
        *why = "memory is used up";
        return -ENOMEM;
    }
    shard->magic = SHARD_MAGIC;
    shard->index = index;
    shard->hub = hub;
    init_tables(shard);
    int failed = -ENOMEM;
    *why = "memory is used up";
    if (make_reserve(shard))
        failed = open_io(shard, why);
    if (!failed && !open_features(shard)) {
        io_close(shard->io);
        buffer_pool_deinit(&shard->buffers); // io_close has returned the provided buffers
        *why = "memory is used up";
        failed = -ENOMEM;
    }
    if (failed) {
        give_reserve(shard);
        memory_give(shard);
        return failed;
    }
    *out = hub->shards[index] = shard;
    return 0;
}

void shard_close(struct shard *shard) {
    close_features(shard);
    assert(shard->magic == SHARD_MAGIC && shard->peers.count == 0 && !shard->loopback_mail);
    assert(list_empty(&shard->to_send) && list_empty(&shard->starved) && list_empty(&shard->receive_queue) &&
           list_empty(&shard->slow_readers));
    assert(list_empty(&shard->fanout_sends.waiting) && list_empty(&shard->read_fairness.new_peers));
    assert(list_empty(&shard->read_fairness.in_deficit) && !shard->read_fairness.waiting &&
           !shard->read_fairness.count);
    assert(list_empty(&shard->closing) && !shard->teardown && list_empty(&shard->exchanges));
    assert(shard->rejects.count == 0 && shard->event_run.count == 0 && !shard->orders && !shard->entries);
    assert(shard->orders_out == 0 && shard->entries_out == 0 && shard->events_out == 0);
    wheel_disarm(&shard->refusals_timer);
    wheel_disarm(&shard->journal_timer);
    wheel_disarm(&shard->watchdog_timer);
    wheel_disarm(&shard->log_timer);
    io_close(shard->io);
    sender_deinit(&shard->sender);
    pending_table_deinit(&shard->pending);
    agents_deinit(&shard->agents);
    freelist_release(&shard->free_exchanges, &shard->quota);
    quota_deinit(&shard->quota);
    quota_deinit(&shard->connection_quota);
    parcel_pool_deinit(&shard->parcels);
    buffer_pool_deinit(&shard->buffers);
    give_reserve(shard);
    memory_give(shard->read_fairness.spare);
    memory_give(shard->peers.slots);
    memory_give(shard->peers.generations);
    memory_give(shard->peers.free);
    shard->magic = 0;
    memory_give(shard);
}

void shard_wake(struct shard *shard, uint32_t other) {
    assert(other < shard->hub->start_settings.shard_count && other != shard->index);
    struct shard *sleeper = shard->hub->shards[other];
    if (atomic_load(&sleeper->asleep))
        io_wake(shard->io, sleeper->io);
}

void shard_note_suppressed(struct shard *shard) {
    if (!timer_armed(&shard->log_timer))
        wheel_arm(&shard->wheel, &shard->log_timer, shard_now_ms(shard) + 1000);
}

void shard_wake_others(struct shard *shard) {
    for (uint32_t other = 0; other < shard->hub->start_settings.shard_count; other++)
        if (other != shard->index)
            shard_wake(shard, other);
}
