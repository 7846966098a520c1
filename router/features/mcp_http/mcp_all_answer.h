// Composes the hub's own answers to calls at /mcp. Each function but the last one ends the gather and its call.
#pragma once

#include "core/base/errors.h"
#include "core/rights/rights.h"
#include "router/features/mcp_http/mcp_gather.h"

// Answers with a result. `result` is the text inside the result's braces, and is taken.
void mcp_all_answer_result(struct shard *shard, struct mcp_gather *gather, struct text *result);
// Answers with an error. `data` is the text inside the braces of the error's data, and is taken.
void mcp_all_answer_error(struct shard *shard, struct mcp_gather *gather, enum error error,
                          struct text *data);
// Answers with an error whose data has one member: a string under this key.
void mcp_all_answer_refuse(struct shard *shard, struct mcp_gather *gather, enum error error, const char *key,
                           const char *text, size_t bytes);
// Answers with -31001 and this rule, and notes the refusal in the journal.
void mcp_all_answer_refuse_right(struct shard *shard, struct mcp_gather *gather, enum rule rule);
// Answers with -31001, because the user's credential is gone. Cancels the questions to servers.
void mcp_all_answer_revoke(struct shard *shard, struct mcp_gather *gather);
// Answers with -32800, because the client ends its session. Cancels the questions to servers.
void mcp_all_cancel_and_answer(struct shard *shard, struct mcp_gather *gather);
// Ends a gather whose call was answered already.
void mcp_all_answer_end(struct shard *shard, struct mcp_gather *gather);
// Writes the beginning of a message, with the id of the gather's request.
void mcp_all_answer_put_id(const struct mcp_gather *gather, struct text *out);
