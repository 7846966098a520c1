// Methods of approvers of held messages (router/features/gate).
#pragma once

#include "router/engine/message/message.h"

// hub/approvals: all that is held, or one of it with all of its body.
void gate_methods_list(struct shard *shard, const struct message *message);
// Whether it decides on what is the gate's and was refused, since its peer may not, whatever else is in it.
bool gate_methods_refuse(struct shard *shard, const struct message *message);
// Where what it decides on is held.
struct gate_place {
    struct hub_name hub;
    size_t bytes;
    char checkpoint[METHOD_BYTES_MAX];
};
// Whether it is a decision of one who may decide, on what is held at another hub: that one decides.
bool gate_methods_remote(struct shard *shard, const struct message *message, struct gate_place *place);
// A governance/approval whose checkpoint is one of the gate's is answered here, whether or not there is a gate.
// False: it is something else.
bool gate_methods_decide(struct shard *shard, const struct message *message);
