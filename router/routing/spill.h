// Members of a group here are preferred while one of them owes little; past that a request is offered to a member elsewhere, who
// takes it if it owes less. What came from another hub is never sent on.
#pragma once

#include "core/agents/rules.h"
#include "router/engine/message/message.h"

// Whether a message that the rules have judged went to another hub, or, where that offered it, is handed back to it. False: it
// is this hub's affair.
bool spill_settles(struct shard *shard, const struct message *message, const struct rules_message *asked,
                   const struct rules_verdict *verdict);
static inline bool spill_takes(struct shard *shard, const struct message *message,
                               const struct rules_message *asked, const struct rules_verdict *verdict) {
    return __builtin_expect(shard->hub->settings.cluster != NULL, false) &&
           spill_settles(shard, message, asked, verdict);
}
