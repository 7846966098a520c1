// Requests of clients to a shared server of the Model Context Protocol that are to last longer than its
// process: subscriptions to resources, and the level from which on it logs.
#pragma once

#include "router/features/mcp/mcp_server_state.h"

// The version that an initialize on its way to it names, as mcp_legacy_version.
uint32_t mcp_client_state_version(const struct shard *shard, const struct parcel *parcel);
// Notes what is on its way to it. True: it was answered here, and is not in progress.
bool mcp_client_state_note(struct shard *shard, struct child *child, struct mcp *mcp, struct mcp_user *user,
                           const struct parcel *parcel);
// The same for a subscription, which lasts unless the request, which is in progress now, is refused.
void mcp_client_state_subscribe(struct shard *shard, struct mcp_users *users, const struct parcel *parcel);
// For a user's own server: notes from which level on it is to log, and the resources to which its user isn't
// subscribed any more.
void mcp_client_state_note_own(struct shard *shard, struct mcp *mcp, struct mcp_users *users,
                               const struct mcp_user *user, const struct parcel *parcel);
// Tells the next process of that, which runs now, all of it, likewise.
void mcp_client_state_send_own(struct shard *shard, struct child *child, const struct mcp *mcp,
                               const struct mcp_user *user);
// Tells the next process, which runs now, all of it, before what waits.
void mcp_client_state_send(struct shard *shard, struct child *child, const struct mcp *mcp);
// A request to the server is refused: its client isn't subscribed, and a resource without subscribers is
// given up.
void mcp_client_state_refused(struct shard *shard, struct child *child, struct mcp_users *users,
                              uint64_t hub_id);
// A user goes: what it alone was subscribed to is given up, and all else of it forgotten.
void mcp_client_state_leave(struct shard *shard, struct child *child, struct mcp *mcp, struct mcp_user *user);
