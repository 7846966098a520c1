// Progress tokens. Two sources may choose the same one at once, so a forwarded request carries tokens of the
// hub's own. A target's reports under them go to the one peer that asked, with the token that it chose (LSP
// 3.17, "Work Done Progress" and "Partial Result Progress"; MCP, "Progress"). A token of the hub's is a
// string that names the request and which of its tokens it is; the token is good until the request ends.
#pragma once

#include "core/requests/pending.h"
#include "router/engine/message/message.h"

// A request's tokens, those that are strings or numbers.
struct progress_tokens {
    unsigned count;
    struct span values[TOKENS_COUNT]; // of the body; bytes 0 where there is none. With `count` 0 not written
};

// Finds them.
void progress_find(const struct message *message, struct progress_tokens *tokens);
// Finds the tokens of a message. False when the message was refused, since a token is too long.
bool progress_read(struct shard *shard, const struct message *message, struct progress_tokens *tokens);

// Takes a report of progress that bears a token of the hub's to whoever asked. False when the message is none
// and is to be routed as any other.
bool progress_route(struct shard *shard, const struct message *message);
// One came from another shard by mail: a parcel with a hole where the token was.
void progress_arrived(struct shard *shard, struct parcel *parcel);
// Which request of this hub's another hub reports on. False: it is no report.
bool progress_number(struct shard *shard, struct peer *link, const struct frame *frame, uint64_t *number);
// Routes what another hub reports. False: it is no report.
bool progress_remote(struct shard *shard, struct peer *link, const struct frame *frame);
