#include "router/features/mcp/mcp_server_state.h"

#include <assert.h>

#include "router/engine/send/send.h"
#include "router/engine/shard/annex.h"

struct mcp *mcp_server_state(struct shard *shard, const struct child *child) {
    assert(shard->index == 0 && child->seat->annex);
    struct annex *annex = child->seat->annex;
    if (annex->mcp)
        return annex->mcp;
    annex->mcp = quota_take_zeroed(&shard->quota, 1, sizeof *annex->mcp);
    if (!annex->mcp)
        return NULL;
    mcp_users_init(&annex->mcp->users, &shard->hub->settings.secrets.tables, &shard->quota);
    parcel_list_init(&annex->mcp->waiting);
    annex->mcp->era = child->modern ? MCP_MODERN : MCP_LEGACY;
    return annex->mcp;
}

struct mcp_users *mcp_server_state_users(const struct child *child, struct mcp *mcp) {
    assert(child->seat->annex->mcp == mcp);
    if (mcp->serial != child->serial)
        mcp_abandoned_forget(&mcp->users);
    mcp->serial = child->serial;
    return &mcp->users;
}

void mcp_server_state_give(struct shard *shard, struct peer *seat) {
    struct mcp *mcp = seat->annex ? seat->annex->mcp : NULL;
    if (!mcp)
        return;
    seat->annex->mcp = NULL;
    for (struct parcel *parcel; (parcel = parcel_list_take(&mcp->waiting));)
        send_release(shard, parcel);
    mcp_users_deinit(&mcp->users);
    capabilities_drop(&shard->quota, mcp->answer);
    quota_give(&shard->quota, mcp);
}
