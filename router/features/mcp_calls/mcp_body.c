#include "router/features/mcp_calls/mcp_body.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool mcp_body_read(struct shard *shard, const struct parcel *answer, struct mcp_body *body) {
    assert(!answer->is_encoded && answer->hole_count == 0);
    *body = (struct mcp_body){.count = (uint32_t)answer->bytes};
    body->buffer = answer->bytes ? buffer_take_sized(&shard->buffers, body->count) : NULL;
    if (!body->buffer)
        return false;
    parcel_copy(answer, body->buffer->bytes);
    body->bytes = body->buffer->bytes;
    lookup_body(&body->lookup, body->bytes, body->count, shard_limits(shard)->id_bytes_max);
    bool good = body->lookup.verdict == LOOKUP_GOOD && body->lookup.kind == BODY_RESPONSE;
    if (!good)
        mcp_body_give(body);
    return good;
}

void mcp_body_give(struct mcp_body *body) {
    assert(body->buffer);
    buffer_drop(body->buffer);
    body->buffer = NULL;
}

int64_t mcp_body_code(const struct mcp_body *body) {
    char digits[24];
    const struct lookup *lookup = &body->lookup;
    if (!lookup_has(lookup, KEY_ERROR) || lookup->type[KEY_ERROR] != JSON_OBJECT)
        return 0;
    struct json_item code = json_member(body->bytes, lookup->value[KEY_ERROR], "code");
    if (code.type != JSON_NUMBER || code.value.bytes >= sizeof digits)
        return 0;
    memcpy(digits, body->bytes + code.value.at, code.value.bytes);
    digits[code.value.bytes] = '\0';
    return strtoll(digits, NULL, 10);
}
