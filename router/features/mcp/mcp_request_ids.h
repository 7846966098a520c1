// Keeps the requests to a server of the Model Context Protocol, and changes ids in its messages about them. The server
// knows the requests of clients by the hub's ids. Clients are told their own ids: of subscriptions, and of requests
// that the server ends itself.
#pragma once

#include "core/mcp/mcp_users.h"
#include "router/engine/message/message.h"
#include "router/features/children/child.h"

// Returns how many subscriptions/listen one client may have at a server. Such requests don't end by themselves, and
// count among the pending requests of the server.
uint32_t mcp_request_ids_listens_max(const struct shard *shard);
// Returns whether the parcel is a subscriptions/listen beyond that number.
bool mcp_request_ids_is_full(const struct shard *shard, const struct mcp_users *users,
                             const struct parcel *parcel);
// Notes that a user's request goes to the child. Returns false without memory.
bool mcp_request_ids_begin(struct shard *shard, struct child *child, struct mcp_user *user,
                           const struct parcel *parcel);
// Notes that a request has ended, in whatever way. Returns false if there is no request with this hub id.
bool mcp_request_ids_end(struct child *child, uint64_t hub_id);
// Ends a request to a process that has ended, and refuses the request in the name of the child that has the name: with
// `error`, or as without an agent if the section was removed before the process had the request (`removed`).
void mcp_request_ids_refuse(struct shard *shard, struct child *child, uint64_t hub_id, enum error error,
                            bool removed);
// Drops the queue of a process that has ended. Notifications are counted. Requests must have been ended.
void mcp_request_ids_drop_queue(struct shard *shard, const struct child *child);
// Notes that a client gives up a request, or leaves, though the child has the request. The request counts as in
// progress until the child has answered (mcp_request_abandon). Returns false if there is no request with this hub id.
bool mcp_request_ids_abandon(struct shard *shard, struct child *child, uint64_t hub_id);
// Returns the hub id of a response; 0: the response has none.
uint64_t mcp_request_ids_answered(const struct message *message);
// Routes a frame of the child as a message of the child that has the name.
void mcp_request_ids_send(struct shard *shard, const struct child *child, const struct frame *frame);
// Takes the response to a request in progress to the request's user, and ends the request. The response may be
// malformed.
void mcp_request_ids_answer(struct shard *shard, struct child *child, const struct message *message,
                            uint64_t hub_id);
// Takes a notification about a subscription to the subscription's user, who must be `user` unless that is NULL. Returns
// false for another notification.
bool mcp_request_ids_notify(struct shard *shard, struct child *child, const struct mcp_user *user,
                            const struct message *message);
// Counts in the server's record if the server says that one of its lists has changed.
void mcp_request_ids_note_change(const struct shard *shard, const struct child *child,
                                 const struct message *message);
