#include "core/base/limits.h"

#include <assert.h>

#define SECOND_NS UINT64_C(1000000000)

void limits_defaults(struct limits *limits) {
    *limits = (struct limits){
        .header_bytes_max = 8 * 1024,
        .frame_bytes_max = 16 * 1024 * 1024,
        .id_bytes_max = 256,
        .queue_bytes_max = 4 * 1024 * 1024,
        .journal_bytes_max = 64 * 1024 * 1024,
        .memory_bytes_max = UINT64_C(1024) * 1024 * 1024,
        .connections_max = 65536,
        .pending_max = 65536,
        .batch_members_max = 1000,
        .request_timeout_ns = 300 * SECOND_NS,
        .idle_timeout_ns = 0,
        .frame_timeout_ns = 10 * SECOND_NS,
        .drain_timeout_ns = 5 * SECOND_NS,
    };
}

void turn_bounds_defaults(struct turn_bounds *bounds) {
    *bounds = (struct turn_bounds){
        .read_ns = SECOND_NS / 1000,
        .slice_ns = SECOND_NS / 4000,
        .registry_ns = SECOND_NS / 2000,
        .fanout_direct_max = 16,
        .fanout_sends_max = 512,
        .fanout_bytes_max = 1024 * 1024,
        .fanout_wait_ns = SECOND_NS / 500,
        .fanout_ahead_bytes = 256 * 1024,
        .send_bytes = SEND_BYTES_MAX,
        .lagging_bytes = 1024 * 1024,
        .lagging_backlog_bytes = 128 * 1024,
        .large_bytes = 1024 * 1024,
        .part_min = 2 * ARRIVAL_BYTES_MAX,
        .part_max = SEND_BYTES_MAX,
        .request_ends_max = 1024,
        .copies_max = 4,
        .peer_orders_max = 4,
    };
}

// Estimates the number of peers for this turn. The estimate at most halves each turn, since a receiver that has to wait
// for its peer takes nothing in some turns.
void turn_parts_begin(struct turn_parts *parts, const struct turn_bounds *bounds) {
    assert(bounds->part_min > 0 && bounds->part_min <= bounds->part_max);
    parts->among = parts->taken > parts->among / 2 ? parts->taken : parts->among / 2;
    parts->taken = 0;
    parts->bytes = bounds->large_bytes / (parts->among ? parts->among : 1);
    if (parts->bytes < bounds->part_min)
        parts->bytes = bounds->part_min;
    if (parts->bytes > bounds->part_max)
        parts->bytes = bounds->part_max;
}

static uint64_t memory_for(uint32_t provided, uint32_t shard_count) {
    assert(provided >= RECEIVE_BUFFERS_PROVIDED_MIN && shard_count > 0 && shard_count <= SHARDS_MAX);
    return (uint64_t)8 * provided * RECEIVE_BUFFER_BYTES * shard_count;
}

uint32_t limits_buffers_provided(uint64_t memory_bytes_max, uint32_t shard_count) {
    uint32_t provided = RECEIVE_BUFFERS_PROVIDED;
    while (provided > RECEIVE_BUFFERS_PROVIDED_MIN && memory_for(provided, shard_count) > memory_bytes_max)
        provided /= 2;
    assert(provided <= RECEIVE_BUFFERS_PROVIDED && (provided & (provided - 1)) == 0);
    return provided;
}

uint64_t limits_memory_bytes_least(uint32_t shard_count) {
    return memory_for(RECEIVE_BUFFERS_PROVIDED_MIN, shard_count);
}
