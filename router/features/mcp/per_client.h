// Runs programs with an instance for each of their users (instances = each). The first child, the stand-in, has the
// name and never runs. per_client_divert takes users' messages before they are queued for the stand-in. Each message
// goes to the instance of its source, which is made if there is none. per_client_take takes messages of an instance
// before they are routed. All others see the stand-in alone. All of this happens on shard 0, which has the children.
#pragma once

#include "core/base/text.h"
#include "core/lookup/lookup.h"
#include "router/features/children/child.h"

struct exchange;
struct mcp_user;
struct mcp_users;

// Takes a user's message before the message is queued for the stand-in, or a notification for all instances that run.
// Takes the parcel.
void per_client_divert(struct shard *shard, struct peer *stub, struct parcel *parcel);
// Forgets a cancelled request with this hub id, which has ended unless `is_long_lived`. Returns the stub of the
// instance that has the request; or NULL.
struct peer *per_client_forget(struct shard *shard, struct peer *stub, uint64_t hub_id, bool is_long_lived);
// Takes a message of an instance before the message is routed. The message may be a member of an array. Returns whether
// the message was taken.
bool per_client_take(struct shard *shard, struct child *child, const struct frame *frame,
                     struct exchange *exchange);
// Takes an instance's answer to the initialize by which the hub opens the user's session anew.
void per_client_reopen(struct shard *shard, struct child *child, const struct lookup *answer);
// Writes the request with this id by which the hub opens the session of an instance anew.
void per_client_put_reopening(const struct peer *stub, struct text *body, uint64_t id);
// Handles the end of an instance's process: ends the requests that the instance owes, and drops its queue unless the
// next process gets it.
void per_client_restart(struct shard *shard, struct peer *stub);
// Forgets a user of a stand-in who has gone, and ends the user's instance.
void per_client_leave(struct shard *shard, struct mcp_users *users, struct mcp_user *user);
