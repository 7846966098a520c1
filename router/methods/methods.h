// The methods that the hub answers itself: those of names.h.
#pragma once

#include "router/request/message.h"

// Answers a message whose method is one of the hub's, or refuses it because the session isn't open yet or the
// hub has no such method under hub/. So it does with a decision on what it holds. False when it is to be routed.
bool methods_answer(struct shard *shard, const struct message *message);
