// The hub's own answers to requests at MCP paths.
#pragma once

#include "core/base/errors.h"
#include "core/base/text.h"
#include "router/engine/send/reply.h"
#include "router/features/mcp_http/mcp_exchange.h"

struct mcp_post;
struct tool_refusal;

// The codes of MCP itself that the hub answers with.
enum { MCP_HEADER_MISMATCH = -32020, MCP_UNSUPPORTED_VERSION = -32022 };

// Each ends the exchange.

// Answers with an error of the hub's and this status. `data` is taken, as by reply_error, and may be NULL. `post` has the exchange
// and, of a request that was read to its end, all else: then the request is noted as refused.
void mcp_reply_error(struct shard *shard, const struct mcp_post *post, unsigned status, enum error error,
                     struct text *data);
// Answers ERROR_OVERLOADED, with the time in milliseconds after which the client may retry.
void mcp_reply_later(struct shard *shard, const struct mcp_post *post, unsigned status, uint64_t ms,
                     struct text *data);
// Answers 400 with a code of MCP's own.
void mcp_reply_code(struct shard *shard, const struct mcp_post *post, int code, const char *text,
                    struct text *data);
// Answers 200 with a result, which is JSON.
void mcp_reply_result(struct shard *shard, struct mcp_exchange *exchange, struct reply_to to,
                      const char *result, size_t bytes);
// Answers with a status and no content. `fields` are more lines of the head, static; or NULL.
void mcp_reply_status(struct shard *shard, struct mcp_exchange *exchange, unsigned status,
                      const char *fields);
// Notes that a message is refused with this error before it is routed: writes the journal's line of a tools/call. ERROR_NONE:
// the client has given up the request.
void mcp_reply_note_refused(struct shard *shard, const struct mcp_post *post, enum error error);

// Writes into `refusal` what the journal's line of a tools/call needs; its error is left unset. `tool` and the bytes of the
// post's path must outlive it. False: the post is no tools/call, and nothing was written.
bool mcp_reply_describe_call(const struct mcp_post *post, struct tool_refusal *refusal,
                             char tool[METHOD_BYTES_MAX]);
