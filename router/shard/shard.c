#include "router/shard/shard.h"

#include <assert.h>
#include <errno.h>

#include "core/base/memory.h"
#include "router/shard/publication.h"

// --- Opening and closing

bool shard_take_settings(struct shard *shard) {
    const struct hub_settings *before = shard->settings, *settings = hub_settings(shard->hub);
    if (settings == before)
        return false;
    const struct limits *limits = &settings->limits;
    assert(shard->magic == SHARD_MAGIC && settings->shard_count == shard->hub->settings.shard_count);
    shard->settings = settings;
    shard->unit_limits = (struct unit_limits){limits->header_bytes_max, limits->frame_bytes_max};
    return true;
}

uint32_t shard_buffers_lent(const struct shard *shard) {
    return limits_buffers_lent(shard->settings->limits.memory_bytes_max, shard->hub->settings.shard_count);
}

static void init_tables(struct shard *shard) {
    struct hub *hub = shard->hub;
    shard_take_settings(shard);
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
    shard->endings_last = &shard->endings;
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

static bool make_reserve(struct shard *shard) {
    size_t bytes = sizeof(struct publication) + shard->hub->settings.shard_count * sizeof(struct copy);
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
    const struct hub_settings *settings = &shard->hub->settings;
    struct io_options options = {.pool = &shard->buffers,
                                 .buffers_lent = shard_buffers_lent(shard),
                                 .backend = settings->io,
                                 .spin_ns = settings->spin_ns};
    int failed = io_open(&shard->io, &options, why);
    if (!failed)
        wheel_init(&shard->wheel, shard_now_ms(shard));
    return failed;
}

int shard_open(struct shard **out, struct hub *hub, uint32_t index, const char **why) {
    assert(index < hub->settings.shard_count);
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
    if (failed) {
        give_reserve(shard);
        memory_give(shard);
        return failed;
    }
    *out = hub->shards[index] = shard;
    return 0;
}

void shard_close(struct shard *shard) {
    assert(shard->magic == SHARD_MAGIC && shard->peers.count == 0);
    assert(list_empty(&shard->to_send) && list_empty(&shard->starved) && list_empty(&shard->behind));
    assert(list_empty(&shard->closing) && !shard->endings && list_empty(&shard->batches));
    assert(shard->untaken.count == 0 && shard->run.count == 0 && !shard->orders && !shard->entries);
    assert(shard->orders_out == 0 && shard->entries_out == 0 && shard->events_out == 0);
    io_close(shard->io);
    sender_deinit(&shard->sender);
    pending_table_deinit(&shard->pending);
    agents_deinit(&shard->agents);
    kept_deinit(&shard->kept);
    parcel_pool_deinit(&shard->parcels);
    buffer_pool_deinit(&shard->buffers);
    give_reserve(shard);
    memory_give(shard->peers.slots);
    memory_give(shard->peers.generations);
    memory_give(shard->peers.free);
    shard->magic = 0;
    memory_give(shard);
}

void shard_wake(struct shard *shard, uint32_t other) {
    assert(other < shard->hub->settings.shard_count && other != shard->index);
    struct shard *sleeper = shard->hub->shards[other];
    if (atomic_load(&sleeper->asleep))
        io_wake(shard->io, sleeper->io);
}

void shard_wake_others(struct shard *shard) {
    for (uint32_t other = 0; other < shard->hub->settings.shard_count; other++)
        if (other != shard->index)
            shard_wake(shard, other);
}
