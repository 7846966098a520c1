// What comes from another hub and can't be served as it is: it goes back there, where it is held, and asked about. What is known of it
// there by its source's file is in its fence (router/rights/remote_acl_check.h).
#pragma once

#include "core/agents/rules.h"
#include "router/engine/message/message.h"

// Somebody must approve it first, which is its source's hub's affair: a request is handed back, and nobody would hear of anything else,
// which is refused.
void inbound_return_hand_back(struct shard *shard, const struct message *message, const struct agent *agent);
// Whether another hub only asks what would become of it: then nobody gets it. An event is answered, as if somebody would.
bool inbound_return_asks(const struct message *message);
bool inbound_return_settles_event(struct shard *shard, const struct message *message);
// Whether a message for which the rules have found somebody, or nobody, goes back: it must be approved before it reaches that agent, may
// not reach it at all, or it was only asked what would become of it.
bool inbound_return_settles(struct shard *shard, const struct message *message,
                            const struct rules_verdict *verdict);
