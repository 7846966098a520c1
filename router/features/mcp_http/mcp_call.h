// Calls: requests of a client of MCP over HTTP that servers have.
#pragma once

#include "core/base/text.h"
#include "router/features/mcp_http/mcp_client_types.h"

// Begins a call whose answer goes to `http`, and which `answered` ends. NULL without memory.
struct mcp_call *mcp_call_begin(struct shard *shard, struct mcp_client *client, struct mcp_exchange *http);
// Sends a body, which is taken, to the server of this name as the request of a call; `directives` may be NULL. The call may
// have been answered, and be gone, then.
void mcp_call_send(struct shard *shard, struct mcp_call *call, const char *name, size_t bytes,
                   struct text *body, const struct directives *directives);
// Ends the exchange of a call that the hub answers itself.
void mcp_call_settle(struct shard *shard, struct mcp_call *call);
// Forgets a call that was answered.
void mcp_call_free(struct shard *shard, struct mcp_call *call);
// Ends a call that its client gives up. The server gets a cancel, and the client no answer.
void mcp_call_cancel(struct shard *shard, struct mcp_call *call);
// Answers a call whose server's section was removed. The call is gone then.
void mcp_call_fail(struct shard *shard, struct mcp_call *call);
// Watches the client's times from now on.
void mcp_call_watch(struct shard *shard, const struct mcp_client *client);
