#include "router/features/hcs/hcs_shard.h"

#include <assert.h>

#include "core/rights/account.h"
#include "router/features/hcs/hcs_mail.h"

bool hcs_shard_open(struct shard *shard) {
    struct hcs_shard *streams = hcs_of(shard);
    const struct siphash_key *key = &shard->hub->settings.secrets.tables;
    struct quota *quota = &shard->quota;
    name_map_init(&streams->by_id, key, quota);
    name_map_init(&streams->by_handle, key, quota);
    name_map_init(&streams->by_client, key, quota);
    list_init(&streams->live);
    list_init(&streams->ended);
    list_init(&streams->over);
    list_init(&streams->holding);
    list_init(&streams->drained);
    timer_init(&streams->look_timer, FEATURE_KIND(FEATURE_HCS, HCS_TIMER_LOOK));
    return true;
}

void hcs_shard_close(struct shard *shard) {
    struct hcs_shard *streams = hcs_of(shard);
    assert(list_empty(&streams->live) && list_empty(&streams->ended) && list_empty(&streams->over));
    assert(list_empty(&streams->holding));
    assert(streams->out == 0 && streams->client_count == 0 && streams->footprint == 0);
    wheel_disarm(&streams->look_timer);
    name_map_deinit(&streams->by_id);
    name_map_deinit(&streams->by_handle);
    name_map_deinit(&streams->by_client);
}

void hcs_shard_peer_freed(struct shard *shard, struct peer *peer) {
    struct hcs_viewer *viewer = hcs_viewer_of(peer);
    if (!viewer)
        return;
    assert(list_empty(&viewer->streams));
    account_drop(viewer->account);
    peer_keep(peer, FEATURE_HCS, NULL);
    quota_give(&shard->quota, viewer);
}
