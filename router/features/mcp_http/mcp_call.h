// Calls: requests of clients of MCP over HTTP, until they are answered by servers or by the hub.
#pragma once

#include "core/base/text.h"
#include "router/features/mcp_http/mcp_client_types.h"

// Begins a call whose answer goes to `http`, which may be NULL. The caller sets call->answered, which ends the call.
// Returns NULL without memory.
struct mcp_call *mcp_call_begin(struct shard *shard, struct mcp_client *client, struct mcp_exchange *http);
// Sends a body, which is taken, to the server of this name as the request of a call. `directives` may be NULL. The call
// may be answered and freed before this returns.
void mcp_call_send(struct shard *shard, struct mcp_call *call, const char *name, size_t bytes,
                   struct text *body, const struct directives *directives);
// Ends the exchange of a call that the hub answers itself.
void mcp_call_settle(struct shard *shard, struct mcp_call *call);
// Frees a call that was answered.
void mcp_call_free(struct shard *shard, struct mcp_call *call);
// Cancels a call that its client gives up: the server gets a cancel, and the client gets no answer. Does nothing if the
// client is being closed, because the client's end ends the call.
void mcp_call_cancel(struct shard *shard, struct mcp_call *call);
// Cancels a call whose session its client ends: the server gets a cancel, and the client -32800. The call is freed.
void mcp_call_cancel_and_answer(struct shard *shard, struct mcp_call *call);
// Answers a call with an error because its server's section was removed. The call is freed.
void mcp_call_fail(struct shard *shard, struct mcp_call *call);
// Answers a held call whose server's section was removed with an error, and frees the call. Leaves other calls alone.
void mcp_call_fail_held(struct shard *shard, struct mcp_call *call);
// Answers a call with -31001, because its user's credential is gone. The server isn't told. The call is freed. A call
// with a gather isn't for this function (mcp_all_answer_revoke).
void mcp_call_revoke(struct shard *shard, struct mcp_call *call);
// Arms the client's timer for keep-alive comments, --mcp-gather and idleness, unless the timer is due earlier.
void mcp_call_watch(struct shard *shard, const struct mcp_client *client);
