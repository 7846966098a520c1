// What the greetings of the protocols share: blocking calls on a socket that is new.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Connects to a URI (io/address.h) or HOST:PORT. The socket or -errno.
int load_dial(const char *at);
// Sends all of it. 0 or -errno.
int load_say(int socket, const void *bytes, size_t count);
// Receives exactly `count` bytes. 0, -ECONNRESET at the other end's end, or -errno.
int load_hear(int socket, void *bytes, size_t count);
// Receives a line up to its LF, byte by byte, so that nothing behind it is taken. Its length, -EPROTO when it
// is longer than `capacity`, or as load_hear.
ssize_t load_hear_line(int socket, char *line, size_t capacity);
// Closes the socket if `error` isn't 0. The socket or the error.
int load_greeted(int socket, int error);

// Copies; returns where it ended.
uint8_t *load_put(uint8_t *out, const void *from, size_t bytes);
