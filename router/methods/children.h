// hub/children, hub/childRestart, hub/childStop and hub/childLog: the programs that the hub keeps running.
#pragma once

#include "router/engine/message/message.h"

void children_list(struct shard *shard, const struct message *message);
void children_restart(struct shard *shard, const struct message *message);
void children_stop(struct shard *shard, const struct message *message);
void children_log(struct shard *shard, const struct message *message);
