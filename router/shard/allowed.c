#include "router/shard/allowed.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

bool allowed_add(struct allowed *allowed, const char *name) {
    size_t bytes = strlen(name);
    assert(allowed->count <= ALLOWED_MAX);
    if (bytes == 0 || bytes > ALLOWED_BYTES_MAX || allowed->count == ALLOWED_MAX)
        return false;
    memcpy(allowed->names[allowed->count++], name, bytes + 1);
    return true;
}

const char *allowed_find(const struct allowed *allowed, const void *name, size_t bytes) {
    assert(name || bytes == 0);
    for (uint32_t index = 0; index < allowed->count; index++)
        if (strlen(allowed->names[index]) == bytes && strncasecmp(allowed->names[index], name, bytes) == 0)
            return allowed->names[index];
    return NULL;
}
