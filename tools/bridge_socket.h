// One of the two sockets of a bridge, plain or TLS, with the bytes that have come and the bytes that wait to be sent.
#pragma once

#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/text.h"

struct bridge_socket {
    int socket;
    SSL *ssl;       // NULL: plain
    bool ended;     // the peer sends nothing more
    bool said_end;  // the bridge sends nothing more
    bool gone;      // the connection has ended in both directions
    struct text in; // received bytes: [at, length) must still be handled; slack lies behind
    size_t at;
    struct text out; // bytes to send: [sent, length) waits
    size_t sent;
};

// Closes the socket and frees the rest of a side.
void bridge_socket_close(struct bridge_socket *side);

// Sends all bytes on a blocking socket, before the bridge runs. Returns 0 or -errno.
int bridge_socket_say(struct bridge_socket *side, const void *bytes, size_t count);
// Receives on a blocking socket, as recv: returns the count of bytes, 0 at the end, or -errno.
long bridge_socket_hear(struct bridge_socket *side, void *bytes, size_t capacity);

// Returns whether OpenSSL has bytes to read that poll doesn't report.
bool bridge_socket_has_more(const struct bridge_socket *side);
// Appends the bytes that have come to `in`. Returns false without memory.
bool bridge_socket_read(struct bridge_socket *side);
// Returns how many bytes wait to be sent.
size_t bridge_socket_waits(const struct bridge_socket *side);
// Writes the bytes that wait, as far as there is room. Returns false if the socket can't be written any more.
bool bridge_socket_write(struct bridge_socket *side);
// Writes all bytes that wait, as long as the socket has room within a second.
void bridge_socket_flush(struct bridge_socket *side);
// Tells the peer that the bridge sends nothing more.
void bridge_socket_end(struct bridge_socket *side);
