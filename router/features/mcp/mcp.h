// Servers of the Model Context Protocol, each shared by many clients as if each had it alone. Messages of
// clients come by on their way into the server's queue (mcp_divert), messages of the server before they are
// routed (mcp_take). A session is opened once, by the hub; its answer is each client's. All of it is shard
// 0's, as its children are.
#pragma once

#include "router/features/children/child.h"

struct exchange;

// Returns whether the child's answer to initialize, which has come, opens a session; clients that waited for
// it are answered. A server that refuses knows no sessions (MCP_MODERN), and clients get its words. False
// when memory is used up.
bool mcp_open(struct shard *shard, struct child *child, const struct lookup *answer, const uint8_t *body);
// Notes that the server's capabilities are known to all now: it can be spoken to.
void mcp_opened(struct shard *shard, struct child *child);
// Takes a peer's message to the server, before it is queued. True: it was dealt with.
bool mcp_divert(struct shard *shard, struct peer *seat, struct parcel *parcel);
// A request that it was asked under this id is cancelled, and has ended unless `is_long_lived`. Returns the peer that has
// the request: this one, or another to which the request was diverted; or NULL.
struct peer *mcp_forget(struct shard *shard, struct peer *seat, uint64_t hub_id, bool is_long_lived);
// Hub ids of what waits for the next session, if the next process may have one: writes as many as there is room for,
// and says how many there are.
size_t mcp_waiting(const struct peer *seat, uint64_t *hub_ids, size_t room);
// Takes a message of the server, before it is routed, maybe as a member of an array. True: likewise.
bool mcp_take(struct shard *shard, struct child *child, const struct frame *frame, struct exchange *exchange);
// A peer that may have used some of them has gone.
void mcp_user_left(struct shard *shard, uint64_t connection);
// The child is no more.
void mcp_close(struct shard *shard, struct peer *seat);
// Notes how many clients each process has.
void mcp_survey(struct shard *shard);
