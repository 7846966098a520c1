// hub/agents: who is here.
#pragma once

#include "router/request/message.h"

void directory_agents(struct shard *shard, const struct message *message);
