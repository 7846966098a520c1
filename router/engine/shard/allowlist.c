#include "router/engine/shard/allowlist.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

bool allowlist_add(struct allowlist *allowed, const char *name) {
    size_t bytes = strlen(name);
    assert(allowed->count <= ALLOWLIST_MAX);
    if (bytes == 0 || bytes > ALLOWLIST_BYTES_MAX || allowed->count == ALLOWLIST_MAX)
        return false;
    memcpy(allowed->names[allowed->count++], name, bytes + 1);
    return true;
}

const char *allowlist_find(const struct allowlist *allowed, const void *name, size_t bytes) {
    assert(name || bytes == 0);
    for (uint32_t index = 0; index < allowed->count; index++)
        if (strlen(allowed->names[index]) == bytes && strncasecmp(allowed->names[index], name, bytes) == 0)
            return allowed->names[index];
    return NULL;
}
