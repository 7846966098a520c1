// A request that was offered to another hub, and is back, on its source's shard.
#pragma once

#include "router/engine/message/message_copy.h"
#include "router/forwarding/remote_target.h"

// Nobody takes it there: it goes to who is here, with what is left of its time, unless it has ended meanwhile or was cancelled.
// `from` is the link that it was offered on.
void spill_return_take(struct shard *shard, uint64_t hub_id, uint64_t from,
                       const struct spill_reason *returned);
// A hub refused it: it goes to another one, which `to` names, with what is left of its time. False: it doesn't, and has ended if it hadn't.
bool spill_return_again(struct shard *shard, uint64_t hub_id, uint64_t from, const struct remote_target *to);
// Routes a message that is back, as its peer when it sent that.
void spill_return_route(struct shard *shard, struct message *message, struct message_copy *offered);
// Another hub has it now: it won't be back.
void spill_return_forget(struct shard *shard, uint64_t hub_id, uint64_t from);
