#include "core/cluster/realm.h"

#include <assert.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/rights/digest.h"

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
