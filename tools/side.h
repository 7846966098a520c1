// One of the two sockets between which a bridge stands, plain or TLS: what has come there, and what waits to go out.
#pragma once

#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/text.h"

struct side {
    int socket;
    SSL *ssl;       // NULL: plain
    bool ended;     // nothing more comes
    bool said_end;  // nothing more goes out
    bool gone;      // in both directions
    struct text in; // [at, length) isn't done yet; slack lies behind
    size_t at;
    struct text out; // of which [sent, length) waits
    size_t sent;
};

// Takes what a connection has left.
void side_close(struct side *side);

// Before the bridge runs, on a blocking socket. All of it; 0 or -errno.
int side_say(struct side *side, const void *bytes, size_t count);
// As recv: so many bytes, 0 at the end, or -errno.
long side_hear(struct side *side, void *bytes, size_t capacity);

// Whether more can be read at once, which poll doesn't tell.
bool side_has_more(const struct side *side);
// Appends what has come to `in`. False without memory.
bool side_read(struct side *side);
size_t side_waits(const struct side *side);
// Writes what waits, as far as there is room. False when nothing can be.
bool side_write(struct side *side);
// The same, as long as some of it is taken within a second.
void side_flush(struct side *side);
// Says that nothing more comes.
void side_end(struct side *side);
