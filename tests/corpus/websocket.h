// A peer of lines, carried over WebSocket: each line is one text message, and each message that comes is a line.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/base/text.h"

struct websocket {
    struct text come;  // frames, and a part of one
    struct text ready; // lines that nobody has read
};

// Asks for the upgrade on a connection to HTTP; false when that is refused.
bool websocket_begin(struct websocket *socket, int fd);
void websocket_end(struct websocket *socket);
// Appends to `out` the frames of whole lines.
void websocket_wrap(const char *lines, size_t count, struct text *out);
// Takes in what came.
void websocket_take(struct websocket *socket, const void *bytes, size_t count);
// Gives out lines, as bytes of them; how many, 0 when there are none.
size_t websocket_give(struct websocket *socket, void *out, size_t capacity);
