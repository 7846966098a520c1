// Text that grows while a message is put together.
#pragma once

#include <stddef.h>

struct draft {
    char *bytes;
    size_t count, capacity;
};

// Adds formatted text, shorter than 1,024 bytes.
__attribute__((format(printf, 2, 3))) void draft_put(struct draft *draft, const char *format, ...);
void draft_add(struct draft *draft, const void *bytes, size_t count);
// Frees the text at `bytes`; the draft is empty again.
void draft_deinit(struct draft *draft);
