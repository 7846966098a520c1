// Answers hub/children, hub/childRestart, hub/childStop and hub/childLog, about the programs that the hub keeps
// running.
#pragma once

#include "router/engine/message/message.h"

void child_methods_list(struct shard *shard, const struct message *message);
void child_methods_restart(struct shard *shard, const struct message *message);
void child_methods_stop(struct shard *shard, const struct message *message);
void child_methods_log(struct shard *shard, const struct message *message);
