// Reads the body of an answer, in one piece.
#pragma once

#include "core/lookup/lookup.h"
#include "core/send/parcel.h"
#include "router/engine/shard/shard.h"

struct mcp_body {
    struct buffer *buffer; // one reference, which mcp_body_give drops; NULL: none
    const uint8_t *bytes;
    uint32_t count;
    struct lookup lookup;
};

// Copies the body of a parcel that isn't encoded, and reads the body as a response. Returns false without memory, or if
// the body is no response: nothing must be given back then.
bool mcp_body_read(struct shard *shard, const struct parcel *answer, struct mcp_body *body);
void mcp_body_give(struct mcp_body *body);
// Returns the code of the response's error; 0: there is no error, or no number as its code.
int64_t mcp_body_code(const struct mcp_body *body);
