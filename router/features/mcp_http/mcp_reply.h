// The hub's own answers to requests at MCP paths.
#pragma once

#include "core/base/errors.h"
#include "core/base/text.h"
#include "router/engine/send/reply.h"
#include "router/features/mcp_http/mcp_exchange.h"

struct mcp_post;

// The codes of MCP itself that the hub answers with.
enum { MCP_HEADER_MISMATCH = -32020, MCP_UNSUPPORTED_VERSION = -32022 };

// Each ends the exchange.

// An error of the hub's with this status; `data` as for reply_error: it is taken, and may be NULL.
void mcp_reply_error(struct shard *shard, struct mcp_exchange *exchange, unsigned status, struct reply_to to,
                     enum error error, struct text *data);
// The same for one that may go in `ms`.
void mcp_reply_later(struct shard *shard, struct mcp_exchange *exchange, unsigned status, struct reply_to to,
                     uint64_t ms, struct text *data);
// The same with a code of MCP's own.
void mcp_reply_code(struct shard *shard, struct mcp_exchange *exchange, struct reply_to to, int code,
                    const char *text, struct text *data);
// A result, JSON; 200.
void mcp_reply_result(struct shard *shard, struct mcp_exchange *exchange, struct reply_to to,
                      const char *result, size_t bytes);
// A status alone.
void mcp_reply_status(struct shard *shard, struct mcp_exchange *exchange, unsigned status,
                      const char *fields);
// Notes that a message is refused with this error before it is routed: a tools/call has a line in the journal. ERROR_NONE: the
// client has given it up.
void mcp_reply_note_refused(struct shard *shard, const struct mcp_post *post, enum error error);
