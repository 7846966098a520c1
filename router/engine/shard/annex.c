#include "router/engine/shard/annex.h"

#include <assert.h>
#include <string.h>

#include "core/base/limits.h"
#include "router/engine/shard/hcs_shard.h"

struct annex *annex_take(struct quota *places, struct peer *peer, uint8_t timer_kind) {
    struct annex *annex = quota_take_zeroed(places, 1, sizeof *annex);
    assert(peer);
    if (!annex)
        return NULL;
    annex->peer = peer;
    timer_init(&annex->timer, timer_kind);
    list_init(&annex->exchanges);
    list_init(&annex->held);
    return annex;
}

void annex_give(struct quota *quota, struct quota *places, struct annex *annex) {
    if (!annex)
        return;
    assert(annex->quota_bytes == 0);
    assert(list_empty(&annex->held) && annex->held_count == 0 && annex->held_bytes == 0);
    assert(list_empty(&annex->exchanges) && !timer_armed(&annex->timer));
    for (struct pool_affinity *affinity; (affinity = annex->affinities);) {
        annex->affinities = affinity->next;
        quota_give(quota, affinity);
    }
    quota_give(quota, annex->attachment);
    hcs_viewer_give(quota, annex->viewer);
    quota_give(quota, annex->departure);
    quota_give(places, annex);
}

bool annex_attach(struct quota *quota, struct annex *annex, const char *agent, size_t bytes) {
    assert(bytes > 0 && bytes <= AGENT_ID_BYTES_MAX);
    struct attachment *attachment = annex->attachment;
    if (!attachment || attachment->bytes < bytes) {
        attachment = quota_take(quota, sizeof *attachment + bytes);
        if (!attachment)
            return false;
        quota_give(quota, annex->attachment);
        annex->attachment = attachment;
    }
    attachment->bytes = (uint32_t)bytes;
    memcpy(attachment->agent, agent, bytes);
    return true;
}
