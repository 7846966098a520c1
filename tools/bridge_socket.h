// One of the two sockets between which a bridge stands, plain or TLS: what has come there, and what waits to go out.
#pragma once

#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/text.h"

struct bridge_socket {
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
void bridge_socket_close(struct bridge_socket *side);

// Before the bridge runs, on a blocking socket. All of it; 0 or -errno.
int bridge_socket_say(struct bridge_socket *side, const void *bytes, size_t count);
// As recv: so many bytes, 0 at the end, or -errno.
long bridge_socket_hear(struct bridge_socket *side, void *bytes, size_t capacity);

// Whether more can be read at once, which poll doesn't tell.
bool bridge_socket_has_more(const struct bridge_socket *side);
// Appends what has come to `in`. False without memory.
bool bridge_socket_read(struct bridge_socket *side);
size_t bridge_socket_waits(const struct bridge_socket *side);
// Writes what waits, as far as there is room. False when nothing can be.
bool bridge_socket_write(struct bridge_socket *side);
// The same, as long as some of it is taken within a second.
void bridge_socket_flush(struct bridge_socket *side);
// Says that nothing more comes.
void bridge_socket_end(struct bridge_socket *side);
