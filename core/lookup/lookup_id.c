// Cutting the id out of a request.
#include "core/lookup/lookup.h"

#include <assert.h>
#include <string.h>

// From behind a token to behind the one before it.
static uint32_t back_over_space(const uint8_t *body, uint32_t at) {
    assert(at > 0);
    while (body[at - 1] == ' ' || body[at - 1] == '\t' || body[at - 1] == '\n' || body[at - 1] == '\r')
        at--;
    return at;
}

// The key is spelled plainly, or the body would have been refused.
struct span lookup_id_member(const struct lookup *lookup, const uint8_t *body) {
    assert(lookup_has(lookup, KEY_ID));
    struct span value = lookup->value[KEY_ID];
    uint32_t end = value.at + value.bytes;
    uint32_t colon = back_over_space(body, value.at) - 1;
    uint32_t begin = back_over_space(body, colon) - (uint32_t)(sizeof "\"id\"" - 1);
    assert(body[colon] == ':' && memcmp(body + begin, "\"id\"", 4) == 0);
    uint32_t behind = json_skip_space(body, end, UINT32_MAX);
    if (body[behind] == ',')
        return (struct span){begin, behind + 1 - begin};
    uint32_t before = back_over_space(body, begin);
    if (body[before - 1] == ',')
        begin = before - 1;
    return (struct span){begin, end - begin};
}
