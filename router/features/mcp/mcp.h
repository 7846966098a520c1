// Servers of the Model Context Protocol, each shared by many clients as if each had it alone. What clients say
// to it comes by on its way into the queue (mcp_divert), what it says comes by before it is routed (mcp_take).
// A session is opened once, by the hub; its answer is each client's. All of it is shard 0's, as its children are.
#pragma once

#include "router/features/children/child.h"

struct exchange;

// Whether the child's answer to initialize, which has come, opens a session; what waited for that is answered.
// One that refuses knows no sessions (MCP_MODERN), and clients hear what it said. False when memory is used up.
bool mcp_open(struct shard *shard, struct child *child, const struct lookup *answer, const uint8_t *body);
// Its capabilities are known to all now: it can be spoken to.
void mcp_opened(struct shard *shard, struct child *child);
// What a peer says to it, before it is queued. True: it was dealt with.
bool mcp_divert(struct shard *shard, struct peer *seat, struct parcel *parcel);
// A request that it was asked under this id is cancelled: as transport.forget.
struct peer *mcp_forget(struct shard *shard, struct peer *seat, uint64_t hub_id, bool lasts);
// Hub ids of what waits for the next session, if the next process may have one: writes as many as there is room for,
// and says how many there are.
size_t mcp_waiting(const struct peer *seat, uint64_t *hub_ids, size_t room);
// What it says, before it is routed, maybe as a member of an array. True: likewise.
bool mcp_take(struct shard *shard, struct child *child, const struct frame *frame, struct exchange *exchange);
// A peer that may have used some of them has gone.
void mcp_user_left(struct shard *shard, uint64_t connection);
// The child is no more.
void mcp_close(struct shard *shard, struct peer *seat);
