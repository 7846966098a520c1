#include "router/engine/send/queue_limit.h"

#include <assert.h>

#include "router/engine/send/slow_reader.h"

enum { URGENT_BYTES_MAX = 1 << 30 }; // each is small, and so their sum fits its field

static_assert(URGENT_BYTES_MAX / sizeof(struct parcel) < OUTBOX_OVER_FROM - OUTBOX_FULL_FROM,
              "urgent parcels that pass a full queue close no receiver");

bool queue_limit_has_room(const struct shard *shard, const struct peer *peer) {
    const struct outbox *outbox = &peer->connection.outbox;
    return outbox_footprint(outbox) < shard_limits(shard)->queue_bytes_max && !outbox_is_full(outbox);
}

bool queue_limit_has_room_for_urgent(const struct shard *shard, const struct peer *peer) {
    uint64_t max = shard_limits(shard)->queue_bytes_max;
    return peer->connection.outbox.urgent_bytes < (max < URGENT_BYTES_MAX ? max : URGENT_BYTES_MAX);
}

bool queue_limit_is_past_grace(const struct shard *shard, const struct peer *peer) {
    return outbox_footprint(&peer->connection.outbox) >= 2 * shard_limits(shard)->queue_bytes_max;
}

bool queue_limit_pauses_reads(struct peer *peer) {
    assert(!peer->reads_paused || identity_of(peer));
    if (peer->reads_paused && queue_limit_waiting(peer) < CONFINED_BYTES_MAX)
        peer->reads_paused = false;
    return peer->reads_paused;
}

bool queue_limit_close(struct shard *shard, struct peer *peer, size_t own_bytes) {
    uint64_t little = shard_limits(shard)->queue_bytes_max;
    assert(own_bytes <= peer->exchange_bytes && little <= slow_reader_bytes_max(shard) / 4);
    if (__builtin_expect(outbox_is_over(&peer->connection.outbox), false)) {
        peer_close(shard, peer, COUNT_CLOSED_SLOW_READER);
        return true;
    }
    if (__builtin_expect(connection_waiting(&peer->connection) < little &&
                             peer->exchange_bytes - own_bytes < little,
                         true)) {
        peer->backlog_since = 0;
        return false;
    }
    if (!slow_reader_is_over(shard, peer) && peer->exchange_bytes - own_bytes < slow_reader_bytes_max(shard))
        return false;
    peer_close(shard, peer, COUNT_CLOSED_SLOW_READER);
    return true;
}
