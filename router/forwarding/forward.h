// A message on its way to an agent: under an id of the hub's own if it is a request.
#pragma once

#include "core/base/errors.h"
#include "router/engine/message/message.h"
#include "router/forwarding/remote_target.h"

// Returns the reason why a target, a connection, can't take one more message now, as far as this shard knows;
// ERROR_NONE when there is none.
enum error forward_fault(struct shard *shard, const struct message *message, uint64_t target);
// Hands a request to an agent, and remembers who asked; without memory for that it is refused. `to` says who on
// another hub is meant, where the agent is the link; else it is NULL. False: it was to be offered there, and can't leave; then
// nothing has changed. All else has been dealt with.
bool forward_request(struct shard *shard, const struct message *message, struct agent *agent,
                     const struct remote_target *to);
// Hands one that another hub has refused to the next one, under the id that it has. False: it can't go, and nothing has changed.
bool forward_again(struct shard *shard, const struct message *message, struct pending *pending,
                   const struct remote_target *to);
// Hands a notification to an agent; likewise. False: it was counted as dropped, unless it would have been back. One that was made out
// of a request loses its id.
bool forward_notification(struct shard *shard, const struct message *message, struct agent *agent,
                          const struct remote_target *to);
// A message as it goes to who gets no id with it; NULL without memory.
struct parcel *forward_without_id(struct shard *shard, const struct message *message);
// Hands a notification of this shard's to a connection, which need be no agent, or counts it as dropped.
void forward_to(struct shard *shard, uint64_t connection, struct parcel *parcel);
