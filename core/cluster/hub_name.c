#include "core/cluster/hub_name.h"

#include <assert.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/rights/digest.h"

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

// Returns whether NODE_BYTES bytes are digits of a NODE. Has no branches, so that all digits are checked in parallel.
static bool is_node(const uint8_t *text) {
    uint8_t others = 0;
    for (unsigned at = 0; at < NODE_BYTES; at++)
        others |= !((uint8_t)(text[at] - '0') < 10 || (uint8_t)(text[at] - 'a') < 6);
    return !others;
}

bool hub_name_read(struct hub_name *out, const void *text, size_t bytes) {
    const uint8_t *at = text;
    uint64_t number;
    if (bytes < NODE_BYTES + 2 || bytes > HUB_NAME_BYTES_MAX || !is_node(at) || at[NODE_BYTES] != '-' ||
        at[NODE_BYTES + 1] == '0')
        return false;
    if (!text_read_digits(at + NODE_BYTES + 1, bytes - NODE_BYTES - 1, UINT32_MAX, &number))
        return false;
    memcpy(out->text, text, bytes);
    out->bytes = (uint8_t)bytes;
    out->number = (uint32_t)number;
    return true;
}

int hub_name_compare_nodes(const struct hub_name *one, const struct hub_name *other) {
    assert(one->bytes && other->bytes);
    return memcmp(one->text, other->text, NODE_BYTES);
}

// --- Realms

enum { DIGITS = 16 };

bool realm_same(const struct realm *one, const struct realm *other) {
    return one->bytes == other->bytes && memcmp(one->text, other->text, one->bytes) == 0;
}

bool realm_make(struct realm *out, const void *users, size_t users_bytes, enum governance gate) {
    const char *level = gate ? governance_text(gate) : "";
    size_t level_bytes = strlen(level), bytes = users_bytes + level_bytes;
    struct digest digest;
    *out = (struct realm){.text = {'0' + CLUSTER_PROTOCOL}, .bytes = 1};
    if (bytes == 0)
        return true;
    char *all = memory_take(bytes);
    if (!all)
        return false;
    if (users_bytes)
        memcpy(all, users, users_bytes);
    memcpy(all + users_bytes, level, level_bytes);
    bool good = digest_make(all, bytes, &digest);
    digest_wipe(all, bytes);
    memory_give(all);
    out->text[1] = '-';
    for (unsigned digit = 0; digit < DIGITS; digit++)
        out->text[2 + digit] = "0123456789abcdef"[digest.bytes[digit / 2] >> (digit % 2 ? 0 : 4) & 15];
    out->bytes = 2 + DIGITS;
    assert(out->bytes <= REALM_BYTES_MAX);
    return good;
}
