#include "router/engine/shard/identity.h"

#include <assert.h>

const struct unit_limits *identity_limits_known(const struct shard *shard, const struct peer *peer) {
    const struct identity *identity = identity_of(peer);
    assert(shard->settings->users);
    bool is_unknown = identity && !identity->user && !identity->bears && !identity->was_known &&
                      identity->kind != CREDENTIAL_CHILD && !peer->transport->answers_only;
    return is_unknown ? &shard->unknown_limits : &shard->unit_limits;
}

bool identity_admits(struct shard *shard, struct peer *peer, const uint8_t *bytes) {
    const struct identity *identity = identity_of(peer);
    assert(peer->state == PEER_OPEN);
    if (!shard->settings->users || !identity || identity->was_known || !peer->transport->admits ||
        !peer->unit.body_at || peer->transport->admits(shard, peer, bytes))
        return true;
    if (peer->state == PEER_OPEN && peer->unit.body_bytes <= UNKNOWN_FRAME_BYTES_MAX)
        return true;
    peer->unit.fault = UNIT_FAULT_BODY_TOO_LARGE;
    peer->unit.fault_at = peer->unit.body_at;
    return false;
}
