#include "router/engine/receive/receive_scan.h"

#include <assert.h>

enum unit_result receive_scan_behind(struct shard *shard, struct peer *peer, uint8_t *bytes, uint32_t count,
                                     enum unit_result result) {
    assert(peer->state == PEER_OPEN && result != UNIT_WHOLE);
    for (;; result = receive_scan_once(shard, peer, bytes, count)) {
        if (result < UNIT_BAD && result != UNIT_WHOLE && !identity_admits(shard, peer, bytes))
            return peer->state == PEER_OPEN ? UNIT_BAD : UNIT_OPEN;
        if (result != UNIT_ASIDE)
            return result;
        peer->transport->aside(shard, peer, bytes);
        if (peer->state != PEER_OPEN)
            return UNIT_OPEN;
    }
}
