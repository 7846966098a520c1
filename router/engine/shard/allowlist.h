// Names that an operator allows: of hosts, or of origins.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ALLOWLIST_MAX = 16, ALLOWLIST_BYTES_MAX = 255 };

struct allowlist {
    uint32_t count;
    char names[ALLOWLIST_MAX][ALLOWLIST_BYTES_MAX + 1];
};

// Adds one; false where it is empty or too long, or there are too many.
bool allowlist_add(struct allowlist *allowed, const char *name);
// Returns the name that is the same but for case, or NULL. The result lives as long as the names do.
const char *allowlist_find(const struct allowlist *allowed, const void *name, size_t bytes);
