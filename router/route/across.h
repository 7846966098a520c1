// What goes to another hub, since nobody is here for it.
#pragma once

#include "core/agents/rules.h"
#include "router/request/message.h"

// Takes a message for which the rules found nobody here to another hub, if there could be somebody; it may have been refused. False:
// there couldn't.
bool across_takes(struct shard *shard, const struct message *message, const struct rules_message *asked,
                  const struct rules_verdict *verdict);
