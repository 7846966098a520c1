// Texts for tests of parsers, laid before an unreadable page, so that a read past the text is a crash. A text of
// `placed` has exactly its slack between; bytes of the slack would mislead a parser that takes them for text.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/limits.h"

enum { PLACED_BYTES_MAX = 2 * 1024 * 1024, PLACED_PAGE_BYTES = 4096 };

static uint8_t *placed_end; // the unreadable page starts here

static int placed_map(void **state) {
    (void)state;
    uint8_t *map = mmap(NULL, PLACED_BYTES_MAX + PLACED_PAGE_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || mprotect(map + PLACED_BYTES_MAX, PLACED_PAGE_BYTES, PROT_NONE) != 0)
        return -1;
    placed_end = map + PLACED_BYTES_MAX;
    return 0;
}

static int placed_unmap(void **state) {
    (void)state;
    return munmap(placed_end - PLACED_BYTES_MAX, PLACED_BYTES_MAX + PLACED_PAGE_BYTES);
}

// The text's copy, with `slack` behind it again and again.
static inline const uint8_t *placed_with(const void *text, size_t bytes, const char *slack) {
    uint8_t *at = placed_end - BUFFER_SLACK_BYTES - bytes;
    if (bytes > PLACED_BYTES_MAX - BUFFER_SLACK_BYTES)
        abort();
    memcpy(at, text, bytes);
    for (size_t index = 0, length = strlen(slack); index < BUFFER_SLACK_BYTES; index++)
        at[bytes + index] = (uint8_t)slack[index % length];
    return at;
}

static inline const uint8_t *placed(const void *text, size_t bytes) {
    return placed_with(text, bytes, "\"}],:1");
}
