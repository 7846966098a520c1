// Names that an operator allows: of hosts, or of origins.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ALLOWED_MAX = 16, ALLOWED_BYTES_MAX = 255 };

struct allowed {
    uint32_t count;
    char names[ALLOWED_MAX][ALLOWED_BYTES_MAX + 1];
};

// Adds one; false where it is empty or too long, or there are too many.
bool allowed_add(struct allowed *allowed, const char *name);
// The name that is the same but for case, or NULL. It lives as long as the names do.
const char *allowed_find(const struct allowed *allowed, const void *name, size_t bytes);
