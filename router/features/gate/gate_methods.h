// Methods for approvers of held messages (router/features/gate).
#pragma once

#include "router/engine/message/message.h"

// Answers hub/approvals: with all held messages, or with one of them and its whole body.
void gate_methods_list(struct shard *shard, const struct message *message);
// Refuses a decision on a checkpoint of a gate if the peer may not decide, whatever else the message has. Returns
// whether the message was refused.
bool gate_methods_refuse(struct shard *shard, const struct message *message);
// The hub that holds a message, and the message's checkpoint.
struct gate_place {
    struct hub_name hub;
    size_t bytes;
    char checkpoint[METHOD_BYTES_MAX];
};
// Reads a decision on a message that another hub holds, from a peer that may decide: the other hub must get the
// decision. Returns false for other messages.
bool gate_methods_remote(struct shard *shard, const struct message *message, struct gate_place *place);
// Answers a governance/approval whose checkpoint is one of a gate, also in a hub without a gate. Returns false for
// other messages.
bool gate_methods_decide(struct shard *shard, const struct message *message);
