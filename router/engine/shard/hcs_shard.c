#include "router/engine/shard/hcs_shard.h"

#include <assert.h>

#include "core/rights/account.h"

void hcs_shard_init(struct hcs_shard *streams, const struct siphash_key *key, struct quota *quota) {
    name_map_init(&streams->by_id, key, quota);
    name_map_init(&streams->by_handle, key, quota);
    name_map_init(&streams->by_client, key, quota);
    list_init(&streams->live);
    list_init(&streams->ended);
    list_init(&streams->over);
    list_init(&streams->holding);
    list_init(&streams->drained);
}

void hcs_shard_deinit(struct hcs_shard *streams) {
    assert(list_empty(&streams->live) && list_empty(&streams->ended) && list_empty(&streams->over));
    assert(list_empty(&streams->holding));
    assert(streams->out == 0 && streams->client_count == 0 && streams->footprint == 0);
    name_map_deinit(&streams->by_id);
    name_map_deinit(&streams->by_handle);
    name_map_deinit(&streams->by_client);
}

void hcs_viewer_give(struct quota *quota, struct hcs_viewer *viewer) {
    if (!viewer)
        return;
    assert(list_empty(&viewer->streams));
    account_drop(viewer->account);
    quota_give(quota, viewer);
}
