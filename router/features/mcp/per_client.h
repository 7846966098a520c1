// Programs with an instance for each of their users (instances = each). Messages of users to the name come by on their
// way into the queue of the first instance, which never runs (per_client_divert). Each message goes to the instance of its
// source, made when there is none. Messages of an instance come by before they are routed (per_client_take). All others
// see the first instance alone, which is asked and answers. All of it is shard 0's, as its children are.
#pragma once

#include "core/base/text.h"
#include "core/lookup/lookup.h"
#include "router/features/children/child.h"

struct exchange;
struct mcp_user;
struct mcp_users;

// Takes a user's message, before it is queued for the first one, or a notification for all instances that
// run: always.
void per_client_divert(struct shard *shard, struct peer *seat, struct parcel *parcel);
// A request that the first one was asked under this id is cancelled, and has ended unless `lasts`. The instance that
// has it; or NULL.
struct peer *per_client_forget(struct shard *shard, struct peer *seat, uint64_t hub_id, bool is_long_lived);
// Takes a message of an instance, before it is routed, maybe as a member of an array. True: it was dealt
// with.
bool per_client_take(struct shard *shard, struct child *child, const struct frame *frame,
                     struct exchange *exchange);
// The instance has answered the initialize by which the hub opens its user's session anew.
void per_client_reopen(struct shard *shard, struct child *child, const struct lookup *answer);
// Writes the request, under this id, by which the hub opens that session anew, at the seat of an instance that reopens.
void per_client_put_reopening(const struct peer *seat, struct text *body, uint64_t id);
// An instance has ended: so does all that it owes, and nothing waits for it.
void per_client_restart(struct shard *shard, struct peer *seat);
// A user of the first one has gone: the user's instance ends.
void per_client_leave(struct shard *shard, struct mcp_users *users, struct mcp_user *user);
