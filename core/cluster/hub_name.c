#include "core/cluster/hub_name.h"

#include <assert.h>
#include <string.h>

#include "core/base/text.h"

void hub_name_write(struct hub_name *out, const char node[NODE_BYTES], uint32_t number) {
    char digits[24];
    size_t bytes = text_digits(digits, number);
    assert(number > 0);
    memcpy(out->text, node, NODE_BYTES);
    out->text[NODE_BYTES] = '-';
    memcpy(out->text + NODE_BYTES + 1, digits, bytes);
    out->bytes = (uint8_t)(NODE_BYTES + 1 + bytes);
    out->number = number;
}

// Without a branch, so that all digits are judged together.
static bool is_node(const uint8_t *text) {
    uint8_t others = 0;
    for (unsigned at = 0; at < NODE_BYTES; at++)
        others |= !((uint8_t)(text[at] - '0') < 10 || (uint8_t)(text[at] - 'a') < 6);
    return !others;
}

bool hub_name_read(struct hub_name *out, const void *text, size_t bytes) {
    const uint8_t *at = text;
    uint64_t number = 0;
    if (bytes < NODE_BYTES + 2 || bytes > HUB_NAME_BYTES_MAX || !is_node(at) || at[NODE_BYTES] != '-' ||
        at[NODE_BYTES + 1] == '0')
        return false;
    for (size_t digit = NODE_BYTES + 1; digit < bytes; digit++) {
        if ((uint8_t)(at[digit] - '0') > 9)
            return false;
        number = number * 10 + (at[digit] - '0');
    }
    if (number > UINT32_MAX)
        return false;
    memcpy(out->text, text, bytes);
    out->bytes = (uint8_t)bytes;
    out->number = (uint32_t)number;
    return true;
}

bool hub_name_same(const struct hub_name *one, const struct hub_name *other) {
    return one->bytes == other->bytes && memcmp(one->text, other->text, one->bytes) == 0;
}

int hub_name_compare_nodes(const struct hub_name *one, const struct hub_name *other) {
    assert(one->bytes && other->bytes);
    return memcmp(one->text, other->text, NODE_BYTES);
}
