// The status page: files that are part of the program. The files never change while the program runs, and need nothing
// but the hub. The page gets its numbers by hub/stats and hub/agents, over its own WebSocket.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct page_file {
    const char *type; // Content-Type
    const uint8_t *bytes;
    size_t count;
};

// Content-Security-Policy of all files: nothing but these files, and no network but the hub.
#define PAGE_POLICY                                                                                          \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "          \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Returns the file of a path without a query; its bytes are NULL if there is no such file. "/" is the page itself.
struct page_file page_find(const char *path, size_t bytes);
