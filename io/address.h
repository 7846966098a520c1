// Where the hub listens and where a client dials: `tcp://HOST:PORT`, `tcp://[V6]:PORT`, `unix:///PATH`, each
// also with the name of how it is spoken there behind the scheme's: `tcp-lines://HOST:PORT`. `http://HOST:PORT`
// and `ws://HOST:PORT` are TCP, and name it alone. `tls`, `https` and `wss` are the same over TLS. Behind a
// Unix socket's path `?mode=0660&group=NAME`, or either, tells whose its file is.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

enum { ADDRESS_TRANSPORT_BYTES_MAX = 15, ADDRESS_GROUP_BYTES_MAX = 32 };

struct address {
    struct sockaddr_storage storage; // family AF_INET, AF_INET6 or AF_UNIX
    socklen_t bytes;
    bool secure;                                     // over TLS
    char transport[ADDRESS_TRANSPORT_BYTES_MAX + 1]; // its name, as it was written; empty: none was
    // Of a Unix socket's file, where the URI gives them. listener_share applies them.
    mode_t mode;                             // 0: it isn't
    char group[ADDRESS_GROUP_BYTES_MAX + 1]; // empty: it isn't
};

// Reads a URI. HOST is a numeric address or `localhost`; nothing is looked up. Which transports there are
// isn't known here. 0, or -EINVAL with an empty address.
int address_parse(struct address *address, const char *uri);
// Of a numeric address, without brackets, or localhost, and a port. False with an empty address: the host is a name.
bool address_place(struct address *address, const char *host, bool is_v6, uint16_t port);
// Writes the URI, without what is told of a file, with its terminating zero; returns the length, cut to capacity - 1.
size_t address_format(const struct address *address, char *out, size_t capacity);
// Whether only this machine can reach it: a Unix socket, 127.0.0.0/8 or ::1.
bool address_is_local(const struct address *address);
// The port, as it was written; of a Unix socket 0.
unsigned address_port(const struct address *address);

// Where the hub's Unix socket is by default: $XDG_RUNTIME_DIR/patchbay.sock; else /run/patchbay/patchbay.sock
// for root; else patchbay-<uid>/patchbay.sock under /tmp. Writes its URI. 0, or -ENAMETOOLONG.
int address_default_unix(char *uri, size_t capacity);

struct io_origin;

enum { ADDRESS_ORIGIN_BYTES = 64 };

// Writes where a connection comes from, as logs have it: 192.0.2.1, 2001:db8::1, or uid 1000 of a Unix socket.
void address_of_origin(const struct io_origin *origin, char out[ADDRESS_ORIGIN_BYTES]);
