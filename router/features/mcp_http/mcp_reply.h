// Sends the hub's own answers to requests at MCP paths.
#pragma once

#include "core/base/errors.h"
#include "core/base/text.h"
#include "router/engine/send/reply.h"
#include "router/features/mcp_http/mcp_exchange.h"

struct mcp_post;
struct message;
struct unrouted_source;

// MCP's own error codes that the hub uses.
enum { MCP_HEADER_MISMATCH = -32020, MCP_UNSUPPORTED_VERSION = -32022 };

// Each function down to mcp_reply_status ends the exchange.

// Answers with an error of the hub and this status. `data` is taken, as by reply_error, and may be NULL. `post` must
// have the exchange. If `post` is a request that was read completely, the request is noted as refused.
void mcp_reply_error(struct shard *shard, const struct mcp_post *post, unsigned status, enum error error,
                     struct text *data);
// Answers ERROR_OVERLOADED, with the time in milliseconds after which the client may retry.
void mcp_reply_later(struct shard *shard, const struct mcp_post *post, unsigned status, uint64_t ms,
                     struct text *data);
// Answers with status 400 and a code of MCP's own.
void mcp_reply_code(struct shard *shard, const struct mcp_post *post, int code, const char *text,
                    struct text *data);
// Answers with status 200 and a result, which is JSON.
void mcp_reply_result(struct shard *shard, struct mcp_exchange *exchange, struct reply_to to,
                      const char *result, size_t bytes);
// Answers with a status and no content. `fields` are more lines of the head, static; or NULL.
void mcp_reply_status(struct shard *shard, struct mcp_exchange *exchange, unsigned status,
                      const char *fields);
// Tells the features that a message is refused with this error before routing; ERROR_NONE: the client has given up the
// request. So the message has its line in the journal, its entry in a tap, and its span in a trace.
void mcp_reply_note(struct shard *shard, const struct message *message, const struct unrouted_source *source,
                    enum error error);
// Tells the features that the hub has answered a message with a result, in place of servers.
void mcp_reply_note_answer(struct shard *shard, const struct message *message,
                           const struct unrouted_source *source);
// Tells the features that the hub has answered a post, which is a request, with a result in place of servers.
void mcp_reply_note_post_answer(struct shard *shard, const struct mcp_post *post);
// Tells the features that the client has given up a post, if the post is a request that was read completely.
void mcp_reply_note_post_left(struct shard *shard, const struct mcp_post *post);
