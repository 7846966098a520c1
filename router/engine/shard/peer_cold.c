#include "router/engine/shard/peer_cold.h"

#include <assert.h>
#include <string.h>

#include "core/base/limits.h"

struct peer_cold *peer_cold_create(struct quota *connection_quota, struct peer *peer, uint8_t timer_kind) {
    struct peer_cold *cold = quota_take_zeroed(connection_quota, 1, sizeof *cold);
    assert(peer);
    if (!cold)
        return NULL;
    cold->peer = peer;
    timer_init(&cold->timer, timer_kind);
    return cold;
}

void peer_cold_destroy(struct quota *quota, struct quota *connection_quota, struct peer_cold *cold) {
    if (!cold)
        return;
    assert(cold->quota_bytes == 0);
    assert(!timer_armed(&cold->timer));
    quota_give(quota, cold->attachment);
    for (unsigned number = 0; number < FEATURES_MAX; number++)
        quota_give(connection_quota, cold->states[number]);
    quota_give(connection_quota, cold);
}

bool peer_cold_attach(struct quota *quota, struct peer_cold *cold, const char *agent, size_t bytes) {
    assert(bytes > 0 && bytes <= AGENT_ID_BYTES_MAX);
    struct attachment *attachment = cold->attachment;
    if (!attachment || attachment->bytes < bytes) {
        attachment = quota_take(quota, sizeof *attachment + bytes);
        if (!attachment)
            return false;
        quota_give(quota, cold->attachment);
        cold->attachment = attachment;
    }
    attachment->bytes = (uint32_t)bytes;
    memcpy(attachment->agent, agent, bytes);
    return true;
}
