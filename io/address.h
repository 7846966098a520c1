// Where the hub listens and where a client dials: `tcp://HOST:PORT`, `tcp://[V6]:PORT`, `unix:///PATH`, each
// also with the name of how it is spoken there behind the scheme's: `tcp-lines://HOST:PORT`.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

enum { ADDRESS_TRANSPORT_BYTES_MAX = 15 };

struct address {
    struct sockaddr_storage storage; // family AF_INET, AF_INET6 or AF_UNIX
    socklen_t bytes;
    char transport[ADDRESS_TRANSPORT_BYTES_MAX + 1]; // its name, as it was written; empty: none was
};

// Reads a URI. HOST is a numeric address or `localhost`; nothing is looked up. Which transports there are
// isn't known here. 0 or -EINVAL.
int address_parse(struct address *address, const char *uri);
// Writes the URI with its terminating zero; returns the length, cut to capacity - 1.
size_t address_format(const struct address *address, char *out, size_t capacity);
// Whether only this machine can reach it: a Unix socket, 127.0.0.0/8 or ::1.
bool address_is_local(const struct address *address);

// Where the hub's Unix socket is by default: $XDG_RUNTIME_DIR/patchbay.sock; else /run/patchbay/patchbay.sock
// for root; else patchbay-<uid>/patchbay.sock under /tmp. Writes its URI. 0, or -ENAMETOOLONG.
int address_default_unix(char *uri, size_t capacity);
