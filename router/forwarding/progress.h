// Progress tokens (LSP 3.17, "Work Done Progress" and "Partial Result Progress"; MCP, "Progress"). Two sources may
// choose the same token, so a forwarded request has tokens of the hub's own. The target's reports under such a token go
// to the source of the request, with the source's token. The hub's token is a string that names the request and the
// kind of token. A token is valid until the request ends.
#pragma once

#include "core/requests/pending.h"
#include "router/engine/message/message.h"

// The tokens of a request that are strings or numbers.
struct progress_tokens {
    unsigned count;
    struct span values[TOKENS_COUNT]; // in the body; bytes 0: no such token. Not written if `count` is 0
};

// Finds the tokens of a request.
void progress_find(const struct message *message, struct progress_tokens *tokens);
// Finds the tokens of a message. Returns false if a token is too long and the message was refused.
bool progress_read(struct shard *shard, const struct message *message, struct progress_tokens *tokens);

// Takes a progress report under a token of the hub to the source of the request. Returns false if the message isn't
// such a report and must be routed.
bool progress_route(struct shard *shard, const struct message *message);
// Handles a report from another shard: a parcel with a hole for the token.
void progress_arrived(struct shard *shard, struct parcel *parcel);
// Finds the request on which another hub reports. Returns false if the frame is no report.
bool progress_number(struct shard *shard, struct peer *link, const struct frame *frame, uint64_t *number);
// Takes another hub's report to the source of the request. Returns false if the frame is no report.
bool progress_remote(struct shard *shard, struct peer *link, const struct frame *frame);
