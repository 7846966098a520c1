// The body of an answer, in one piece.
#pragma once

#include "core/lookup/lookup.h"
#include "core/send/parcel.h"
#include "router/engine/shard/shard.h"

struct mcp_body {
    struct buffer *buffer; // one reference; NULL without memory
    const uint8_t *bytes;
    uint32_t count;
    struct lookup lookup;
};

// Copies a parcel's body, which isn't dressed. False without memory, or where it is no response that can be read; nothing
// is to be given back then.
bool mcp_body_read(struct shard *shard, const struct parcel *answer, struct mcp_body *body);
void mcp_body_give(struct mcp_body *body);
// The code of its error; 0: it has none.
int64_t mcp_body_code(const struct mcp_body *body);
