// The hub's own answers to requests at MCP paths.
#pragma once

#include "core/base/errors.h"
#include "core/base/text.h"
#include "router/engine/send/reply.h"
#include "router/features/mcp_http/mcp_exchange.h"

struct mcp_post;
struct message;
struct unrouted_source;

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
// Notes that a message is refused with this error before it is routed; ERROR_NONE: the client has given up the request. All who
// look at refused messages see the message: the journal has its line, a tap its entry, a trace its span.
void mcp_reply_note(struct shard *shard, const struct message *message, const struct unrouted_source *source,
                    enum error error);
// Notes the same of a post. A post that wasn't read to its end isn't noted.
void mcp_reply_note_post(struct shard *shard, const struct mcp_post *post, enum error error);
