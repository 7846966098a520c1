// agent/register and agent/unregister.
#pragma once

#include "router/engine/message/message.h"

void registration_register(struct shard *shard, const struct message *message);
void registration_unregister(struct shard *shard, const struct message *message);
