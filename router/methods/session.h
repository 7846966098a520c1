// A session: initialize, initialized, shutdown and exit.
#pragma once

#include "router/engine/message/message.h"

// Opens it; nothing is registered by that. The result tells what the hub is and can.
void session_initialize(struct shard *shard, const struct message *message);
// Taken; a request is answered null.
void session_initialized(struct shard *shard, const struct message *message);
// The connection's agents end, what was forwarded goes on; answered null when that is known everywhere.
void session_shutdown(struct shard *shard, const struct message *message);
// The connection says no more, as if its stream had ended: its agents and subscriptions end, and the connection once it has
// got all answers.
void session_finish(struct shard *shard, const struct message *message);
// The connection ends once all is sent that waits for it.
void session_exit(struct shard *shard, const struct message *message);
