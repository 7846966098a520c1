// Shares each server of the Model Context Protocol among many clients, as if each client had the server alone. Messages
// of clients go to mcp_divert before they are queued. Messages of the server go to mcp_take before they are routed. The
// hub opens one session, whose answer is given to each client. All of this happens on shard 0, which has the children.
#pragma once

#include "router/features/children/child.h"

struct exchange;

// Keeps the child's answer to initialize. A server that refuses has no sessions (MCP_MODERN), and clients get its
// refusal. Returns false without memory.
bool mcp_open(struct shard *shard, struct child *child, const struct lookup *answer, const uint8_t *body);
// Goes on when the child runs: tells the server the clients' subscriptions and log level, tells clients of changed
// lists, and queues the requests that have waited.
void mcp_opened(struct shard *shard, struct child *child);
// Takes a peer's message to the server before the message is queued. Returns whether the parcel was taken.
bool mcp_divert(struct shard *shard, struct peer *stub, struct parcel *parcel);
// Forgets a cancelled request with this hub id, which has ended unless `is_long_lived`. Returns the stub of the process
// that has the request: `stub`, or the stub to which the request was diverted. Returns NULL if no process has the
// request.
struct peer *mcp_forget(struct shard *shard, struct peer *stub, uint64_t hub_id, bool is_long_lived);
// Writes the hub ids of requests that wait for the next session, if the next process may have a session: as many as
// there is room for. Returns how many there are.
size_t mcp_waiting(const struct peer *stub, uint64_t *hub_ids, size_t room);
// Takes a message of the server before the message is routed. The message may be a member of an array. Returns whether
// the message was taken.
bool mcp_take(struct shard *shard, struct child *child, const struct frame *frame, struct exchange *exchange);
// Forgets a connection that has gone, and that may have used servers.
void mcp_user_left(struct shard *shard, uint64_t connection);
// Frees the state of a stub whose child has gone. If the section was removed, keeps which clients are to be told when a
// section has the name again.
void mcp_close(struct shard *shard, struct peer *stub);
// Writes to each child's record how many clients the process has.
void mcp_survey(struct shard *shard);
