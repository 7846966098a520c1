// In whose name a message is said (params.sourceAgent).
#pragma once

#include "router/engine/message/message.h"

// A sender in an agent's name must be the connection that registered it (HugAI v2 messages 3.3). A name that
// was right when the message came stays right for a connection that has half-closed since, whose agents have
// left, unless another connection has that name now.
enum source_agent {
    SOURCE_OWN,  // an agent of its connection's, or, where another hub says it, one that this hub vouches for
    SOURCE_LEFT, // it was, when the message came, which was held
    SOURCE_FOREIGN, // anything else
};

// Which one it is, of a message that bears one; its name, decoded, in `name`. *bytes 0: it is no string, or longer than any.
enum source_agent source_agent_read(const struct shard *shard, const struct message *message,
                                    char name[AGENT_ID_BYTES_MAX], size_t *bytes);
