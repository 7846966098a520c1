// Handles $/cancelRequest of LSP, $/cancel_request of the Agent Client Protocol, and notifications/cancelled of MCP.
#pragma once

#include "router/engine/message/message.h"

// Cancels a request of the peer that sent the message. An id that isn't pending is ignored: the answer may be under
// way.
void cancel_request_route(struct shard *shard, const struct message *message);
// Forwards a cancel of another hub for this request of the link. Returns false if the message is no cancel.
bool cancel_request_remote(struct shard *shard, const struct message *message, struct pending *pending);
// Reads the method of another hub's notification, and the number of the request that it cancels. Returns false if it is
// no cancel.
bool cancel_request_number(struct message *message, uint64_t *number);
