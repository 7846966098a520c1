// Requests of clients to a shared server of the Model Context Protocol that are to last longer than its
// process: subscriptions to resources, and the level from which on it logs.
#pragma once

#include "core/mcp/mcp_message.h"
#include "core/mcp/mcp_users.h"
#include "core/send/outbox.h"
#include "router/features/children/child.h"

// --- The server's state

// State of a seat: of a server of the Model Context Protocol that clients share, of its process of the modern era, or of
// a user's own instance. Of the first instance, which has the name where each user has one (per_client.c), only the users
// are in use.
struct mcp {
    struct mcp_users users;
    const struct child_record *record; // the child's
    uint32_t serial;                   // of the start of the process that has what was given up
    enum mcp_era era;
    bool cancel_ended;           // what the seat asked had ended when it was cancelled, before (peer_cold.h)
    struct capabilities *answer; // to initialize: its result, or of the modern era its error; NULL: none yet
    struct span
        version; // of a legacy one: where its answer has protocolVersion, a JSON string; 0 bytes: nowhere
    struct parcel_list waiting; // requests that came before that and depend on it
    char level
        [MCP_LEVEL_BYTES]; // of a user's own, from which on it logs, as that one last said; "": it didn't
    // Of a user's own: the params of the initialize by which that user has opened its session, and the hub id of that
    // request as long as it isn't answered (per_client.c).
    struct capabilities *opening;
    uint64_t opening_id;
    bool is_open; // it was answered with a session
};

// NULL: none yet, or none any more.
static inline struct mcp *mcp_of_seat(const struct peer *seat) {
    return peer_state(seat, FEATURE_MCP);
}

// Returns the users of a child's process: its own, or those of the first instance where each user has one. NULL: as
// mcp_of_seat.
static inline struct mcp_users *mcp_users_of(const struct child *child) {
    struct mcp *mcp = mcp_of_seat(child->of && !child->modern ? child->of->seat : child->seat);
    return mcp ? &mcp->users : NULL;
}

// Made with the first use; NULL without memory.
struct mcp *mcp_server_state(struct shard *shard, const struct child *child);
// Returns the users that share it, without requests that were given up at a process that has ended since.
struct mcp_users *mcp_server_state_users(const struct child *child, struct mcp *mcp);
void mcp_server_state_give(struct shard *shard, struct peer *seat);

// The version that an initialize on its way to it names, as mcp_legacy_version.
uint32_t mcp_client_state_version(const struct shard *shard, const struct parcel *parcel);
// Notes what is on its way to it. True: it was answered here, and is not in progress.
bool mcp_client_state_note(struct shard *shard, struct child *child, struct mcp *mcp, struct mcp_user *user,
                           const struct parcel *parcel);
// Notes a subscription, which lasts unless the request in progress is refused.
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
void mcp_client_state_refused(struct shard *shard, struct child *child, uint64_t hub_id);
// A user goes: what it alone was subscribed to is given up, and all else of it forgotten.
void mcp_client_state_leave(struct shard *shard, struct child *child, struct mcp *mcp, struct mcp_user *user);
