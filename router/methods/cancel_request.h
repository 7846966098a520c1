// $/cancelRequest of LSP, $/cancel_request of the Agent Client Protocol, and notifications/cancelled of MCP.
#pragma once

#include "router/engine/message/message.h"

// A peer cancels what it has asked. Ids that aren't pending are ignored: the answer may be on its way.
void cancel_request_route(struct shard *shard, const struct message *message);
// Another hub's source cancels this request of the link's: it is forwarded as one of a peer here would be. False: it isn't one.
bool cancel_request_cross(struct shard *shard, const struct message *message, struct pending *pending);
// Reads the method of a notification, and which request of that hub's it cancels. False: it cancels none.
bool cancel_request_number(struct message *message, uint64_t *number);
