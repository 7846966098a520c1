// Keeps what clients of a shared server of the Model Context Protocol have set, for its next process: subscriptions to
// resources, and the log level.
#pragma once

#include "core/mcp/mcp_message.h"
#include "core/mcp/mcp_users.h"
#include "core/send/outbox.h"
#include "router/features/children/child.h"

// --- The server's state

// The state of a stub: of an MCP server that clients share, of its process for the modern era, or of a user's own
// instance. A stand-in (per_client.c) uses `users` alone.
struct mcp {
    struct mcp_users users;
    const struct child_record *record; // the child's record
    uint32_t serial;                   // child.serial of the process that has the abandoned requests
    enum mcp_era era;
    bool cancel_ended;           // the stub's cancel_ends before this state was made (peer_cold.h)
    struct capabilities *answer; // the result of initialize, in the modern era its error; NULL: none yet
    struct span version; // in the legacy era: `protocolVersion` in `answer`, a JSON string; 0 bytes: none
    struct parcel_list waiting;  // requests that wait for `answer`
    char level[MCP_LEVEL_BYTES]; // of a user's own instance: the log level that the user has set; "": none
    // Of a user's own instance (per_client.c): the params of the user's initialize, or NULL, and the hub id of that
    // request until the request is answered.
    struct capabilities *opening;
    uint64_t opening_id;
    bool is_open; // the instance has answered that request with a session
};

// Returns the state of a stub; NULL: there is none yet, or none any more.
static inline struct mcp *mcp_of_stub(const struct peer *stub) {
    return peer_state(stub, FEATURE_MCP);
}

// Returns the users of a child: of the stand-in, if the child is a user's own instance. NULL: the stub has no state.
static inline struct mcp_users *mcp_users_of(const struct child *child) {
    struct mcp *mcp = mcp_of_stub(child->of && !child->modern ? child->of->stub : child->stub);
    return mcp ? &mcp->users : NULL;
}

// Returns the state of the child's stub, and makes it if there is none. Returns NULL without memory.
struct mcp *mcp_server_state(struct shard *shard, const struct child *child);
// Returns the users of a child. Forgets requests that were abandoned at an earlier process.
struct mcp_users *mcp_server_state_users(const struct child *child, struct mcp *mcp);
// Frees the state of a stub.
void mcp_server_state_give(struct shard *shard, struct peer *stub);

// Returns the version that a client's initialize names, as mcp_legacy_version.
uint32_t mcp_client_state_version(const struct shard *shard, const struct parcel *parcel);
// Notes what a client's message to the server sets. Returns true if the hub has answered the message, which then isn't
// in progress.
bool mcp_client_state_note(struct shard *shard, struct child *child, struct mcp *mcp, struct mcp_user *user,
                           const struct parcel *parcel);
// Notes a subscription, which lasts unless the request in progress is refused.
void mcp_client_state_subscribe(struct shard *shard, struct mcp_users *users, const struct parcel *parcel);
// Notes what a user's request to its own instance sets: the log level, a subscription, or the end of one.
void mcp_client_state_note_own(struct shard *shard, struct mcp *mcp, struct mcp_users *users,
                               const struct mcp_user *user, const struct parcel *parcel);
// Sends what the user of an instance has set to the instance's new process, before queued messages.
void mcp_client_state_send_own(struct shard *shard, struct child *child, const struct mcp *mcp,
                               const struct mcp_user *user);
// Sends what the clients have set to the server's new process, before queued messages.
void mcp_client_state_send(struct shard *shard, struct child *child, const struct mcp *mcp);
// Notes that the server has refused a request: its subscription ends. The server is told to end a subscription that no
// client has any more.
void mcp_client_state_refused(struct shard *shard, struct child *child, uint64_t hub_id);
// Forwards a program's request to one of its users, who is no agent, but whose registrant is known here. Refuses the
// request if the hub ends, or if the user can't get more.
void mcp_client_state_ask(struct shard *shard, const struct message *message, struct mcp_user *user);
// Forgets a user who has gone. The server is told to end the subscriptions that no other user has.
void mcp_client_state_leave(struct shard *shard, struct child *child, struct mcp *mcp, struct mcp_user *user);
