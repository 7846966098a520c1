// Addresses where the hub listens and where a client dials: `tcp://HOST:PORT`, `tcp://[V6]:PORT` and `unix:///PATH`. A
// transport's name may follow the scheme: `tcp-lines://HOST:PORT`. `http://HOST:PORT` and `ws://HOST:PORT` name a
// transport over TCP. `tls`, `https` and `wss` are `tcp`, `http` and `ws` over TLS. `?mode=0660&group=NAME`, or one of
// both, may follow a Unix socket's path, and sets the mode and the group of the socket's file.
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
    bool secure; // over TLS
    // The transport's name as the URI has it; empty: the URI has none
    char transport[ADDRESS_TRANSPORT_BYTES_MAX + 1];
    // The mode and the group of a Unix socket's file. listener_share applies both.
    mode_t mode;                             // 0: the URI has none
    char group[ADDRESS_GROUP_BYTES_MAX + 1]; // empty: the URI has none
};

// Reads a URI. HOST is a numeric address or `localhost`; no name is looked up. Does not check that the transport
// exists. Returns 0, or -EINVAL with an empty address.
int address_parse(struct address *address, const char *uri);
// Makes an address of a port and a host: a numeric address without brackets, or localhost. Returns false with an empty
// address if the host is another name.
bool address_place(struct address *address, const char *host, bool is_v6, uint16_t port);
// Writes the URI without mode and group, and a terminating zero. Returns the length, at most capacity - 1.
size_t address_format(const struct address *address, char *out, size_t capacity);
// Returns whether only this machine can reach the address: a Unix socket, 127.0.0.0/8 or ::1.
bool address_is_local(const struct address *address);
// Returns the port; 0 for a Unix socket.
unsigned address_port(const struct address *address);

// Writes the URI of the hub's default Unix socket: $XDG_RUNTIME_DIR/patchbay.sock; else /run/patchbay/patchbay.sock for
// root; else /tmp/patchbay-<uid>/patchbay.sock. Returns 0, or -ENAMETOOLONG.
int address_default_unix(char *uri, size_t capacity);

struct io_peer_address;

enum { ADDRESS_PEER_BYTES = 64 };

// Writes where a connection comes from, as logs have it: 192.0.2.1, 2001:db8::1, or `uid 1000` for a Unix socket.
void address_of_peer(const struct io_peer_address *from, char out[ADDRESS_PEER_BYTES]);
