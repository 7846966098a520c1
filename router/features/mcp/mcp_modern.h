// The process by which a shared server of the Model Context Protocol speaks its modern era (2026-07-28), where its
// first one has sessions. The process is started when a client first says something of that era. To all others,
// requests to this process are requests to the first one. A program that refuses server/discover, or ends before it has
// answered anything, has no such era, and isn't tried again.
#pragma once

#include "core/mcp/mcp_users.h"
#include "router/engine/message/message.h"
#include "router/features/children/child.h"

// Something of that era for the server: takes it.
void mcp_modern_divert(struct shard *shard, struct child *first, struct parcel *parcel);
// The process that was asked under this id; NULL: none was.
struct child *mcp_modern_requested(const struct child *first, uint64_t hub_id);
// The process answers a request under this id: answers as the first one.
void mcp_modern_answer(struct shard *shard, struct child *child, const struct message *message,
                       uint64_t hub_id);
// Ends the requests to a process that has ended.
void mcp_modern_restart(struct shard *shard, struct peer *seat);
// Where the first one has refused a session, it speaks this era, too: the other one ends as soon as nobody has anything
// in progress there. Looks whether that is so.
void mcp_modern_retire(struct shard *shard, struct child *first);
// Hub ids of what it was asked, of the first one's seat: writes as many as there is room for, and says how many there
// are.
size_t mcp_modern_others(const struct peer *seat, uint64_t *hub_ids, size_t room);
