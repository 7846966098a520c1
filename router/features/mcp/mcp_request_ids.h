// Requests to a server of the Model Context Protocol, and its messages about them: the ids by which it names
// requests of clients (subscriptions, and those that it ends itself) are the hub's, and become theirs.
#pragma once

#include "core/mcp/mcp_users.h"
#include "router/engine/message/message.h"
#include "router/features/children/child.h"

// How many subscriptions/listen one client may have at a server: they have no end of their own, and count in what the
// server owes all of its clients.
uint32_t mcp_request_ids_listens_max(const struct shard *shard);
// Whether this is one more than that.
bool mcp_request_ids_is_full(const struct shard *shard, const struct mcp_users *users,
                             const struct parcel *parcel);
// A request is on its way to `child`. False without memory.
bool mcp_request_ids_begin(struct shard *shard, struct child *child, struct mcp_user *user,
                           const struct parcel *parcel);
// Notes that a request has ended, in whatever way. False: there is none under this id.
bool mcp_request_ids_end(struct child *child, uint64_t hub_id);
// Notes that a request's client gives it up, or leaves, though the child has it: the request counts as in
// progress until the child has answered it (mcp_request_abandon). False: likewise.
bool mcp_request_ids_abandon(struct shard *shard, struct child *child, uint64_t hub_id);
// The hub id that a response bears; 0: none.
uint64_t mcp_request_ids_answered(const struct message *message);
// Says a frame as the one that has the name, which was asked.
void mcp_request_ids_send(struct shard *shard, const struct child *child, const struct frame *frame);
// A response has come to a request in progress, which it ends, whatever is wrong with it: takes it to its user.
void mcp_request_ids_answer(struct shard *shard, struct child *child, const struct message *message,
                            uint64_t hub_id);
// Takes a notification of a subscription, or one that ends it, to its user; that must be `user` unless it is NULL.
// False: it is none.
bool mcp_request_ids_notify(struct shard *shard, struct child *child, const struct mcp_user *user,
                            const struct message *message);
// Notes that the server says one of its lists has changed, if it says so.
void mcp_request_ids_note_change(const struct shard *shard, const struct child *child,
                                 const struct message *message);
