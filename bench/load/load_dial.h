// Blocking calls on a new socket, which the greetings of the protocols share.
#pragma once

#include <openssl/types.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Connects to a URI (io/address.h) or HOST:PORT. The socket or -errno.
int load_dial(const char *at);
struct bridge;

// The same where the URI says `tls://`, behind a line that the server says in the clear: *bridge stands behind the
// socket then, else it is NULL.
int load_dial_upgraded(const char *at, struct bridge **bridge);
// Sends all of it. 0 or -errno.
int load_say(int socket, const void *bytes, size_t count);
// Receives exactly `count` bytes. 0, -ECONNRESET at the other end's end, or -errno.
int load_hear(int socket, void *bytes, size_t count);
// Receives a line up to its LF, byte by byte, so that nothing behind it is taken. Returns its length, -EPROTO
// when it is longer than `capacity`, or as load_hear.
ssize_t load_hear_line(int socket, char *line, size_t capacity);
// Closes the socket if `error` isn't 0. The socket or the error.
int load_greeted(int socket, int error);

// The same of a socket with a bridge behind it, which ends: its connection, and *ssl on it. The bridge may be NULL.
int load_greeted_over(int socket, int error, struct bridge *bridge, SSL **ssl);

// Copies; returns where it ended.
uint8_t *load_put(uint8_t *out, const void *from, size_t bytes);
