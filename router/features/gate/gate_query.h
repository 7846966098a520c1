// Queries for held messages of all shards: a decision on one message, or a list. A checkpoint doesn't tell its shard,
// so a query goes from shard to shard until it has found its message. Then it goes back to the first shard, which
// answers.
#pragma once

#include "router/features/gate/gate_hold.h"

// A decision on a checkpoint, with the name as it was spelled. The approver may be NULL: then the connection's name is
// used. With a users file, the user's name replaces both. All texts are copied. Without memory the message is refused.
struct gate_query_decision {
    enum decision decision;
    const char *checkpoint;
    size_t checkpoint_bytes;
    struct ruling ruling;
};
void gate_query_decide(struct shard *shard, const struct message *message,
                       const struct gate_query_decision *decision);
// Answers a request with a list of all held messages, or with the message under one checkpoint and its body.
// `checkpoint` is NULL for all.
void gate_query_list(struct shard *shard, const struct message *message, const char *checkpoint,
                     size_t checkpoint_bytes);
// Handles mail of the kind GATE_MAIL_QUERY.
void gate_query_arrived(struct shard *shard, struct mail *mail);
