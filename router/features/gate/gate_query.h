// A question about all held messages: a decision on one message, or a list. The query goes from shard to
// shard until it has found its message, or been everywhere, and then home, where the asker is answered. A
// checkpoint doesn't tell on which shard it is.
#pragma once

#include "router/features/gate/gate_hold.h"

// A decision on a checkpoint, as it was spelled; and its approver, which may be NULL: then the connection's
// name stands for it. Where users are on, their name stands for either. All texts are copied. Without room
// for it the message is refused.
struct gate_query_decision {
    enum decision decision;
    const char *checkpoint;
    size_t checkpoint_bytes;
    struct ruling ruling;
};
void gate_query_decide(struct shard *shard, const struct message *message,
                       const struct gate_query_decision *decision);
// A list of all that is held, or of what is held under one checkpoint, with its body; NULL: of all. The message
// is a request.
void gate_query_list(struct shard *shard, const struct message *message, const char *checkpoint,
                     size_t checkpoint_bytes);
// Mail of the kind GATE_MAIL_QUERY.
void gate_query_arrived(struct shard *shard, struct mail *mail);
