// hub/attach to an agent that isn't here: whether it is at another hub is asked first.
#pragma once

#include "router/engine/message/message.h"

// One that attach_seeks (router/methods/attach.h).
void remote_attach_route(struct shard *shard, const struct message *message);
