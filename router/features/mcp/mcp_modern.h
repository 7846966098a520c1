// Runs a second process of a shared server of the Model Context Protocol for the modern era (2026-07-28), if the first
// process has sessions. A client's first message of that era starts the process. All others see requests to this
// process as requests to the first one. A program has no modern era if it refuses server/discover, or ends before its
// era is known; then the hub doesn't start it again.
#pragma once

#include "core/mcp/mcp_users.h"
#include "router/engine/message/message.h"
#include "router/features/children/child.h"

// Takes a client's message of the modern era: queues the message for the modern process, or refuses the message.
void mcp_modern_divert(struct shard *shard, struct child *first, struct parcel *parcel);
// Returns the modern process of a server if that process has the request with this hub id; else NULL.
struct child *mcp_modern_requested(const struct child *first, uint64_t hub_id);
// Takes the modern process's answer to the request with this hub id, and answers in the name of the first process.
void mcp_modern_answer(struct shard *shard, struct child *child, const struct message *message,
                       uint64_t hub_id);
// Ends the requests to a modern process that has ended.
void mcp_modern_restart(struct shard *shard, struct peer *stub);
// Stops the modern process if the first process has refused a session, and so speaks the modern era itself. Waits until
// the modern process has no request in progress.
void mcp_modern_retire(struct shard *shard, struct child *first);
// Writes the hub ids of the requests that the modern process of a first stub has: as many as there is room for. Returns
// how many there are.
size_t mcp_modern_others(const struct peer *stub, uint64_t *hub_ids, size_t room);
