// How far the unit that is coming in has come, by its peer's wire.
#pragma once

#include "router/engine/shard/identity.h"

static inline enum unit_result receive_scan_once(struct shard *shard, struct peer *peer, uint8_t *bytes,
                                                 uint32_t count) {
    return peer->transport->wire->scan(&peer->unit, bytes, count, identity_limits(shard, peer));
}

// Follows a result that isn't UNIT_WHOLE: a unit may be judged by its beginning, bytes aside are answered,
// and the scanner goes on behind them.
enum unit_result receive_scan_behind(struct shard *shard, struct peer *peer, uint8_t *bytes, uint32_t count,
                                     enum unit_result result);

// Scans what has come of the unit, from its first byte. UNIT_OPEN also where the peer isn't open any more.
static inline enum unit_result receive_scan_unit(struct shard *shard, struct peer *peer, uint8_t *bytes,
                                                 uint32_t count) {
    enum unit_result result = receive_scan_once(shard, peer, bytes, count);
    return result == UNIT_WHOLE ? result : receive_scan_behind(shard, peer, bytes, count, result);
}
