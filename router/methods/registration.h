// agent/register and agent/unregister.
#pragma once

#include "router/request/message.h"

void registration_register(struct shard *shard, const struct message *message);
void registration_unregister(struct shard *shard, const struct message *message);
