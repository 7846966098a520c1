// See load_dial.h. Success: the other side answers a greeting as its protocol says. Failure: each failure of
// a call, and an end of the connection, comes back as a negative errno.
#include "bench/load/load_dial.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/hub_address.h"
#include "tools/tls_bridge.h"

enum { LINE_BYTES_MAX = 4096 };

static int read_place(const char *at, struct hub_address *hub) {
    char uri[256];
    const char *scheme = strstr(at, "://") == NULL ? "tcp://" : "";
    bool fits = (size_t)snprintf(uri, sizeof uri, "%s%s", scheme, at) < sizeof uri;
    return fits ? hub_address_parse(hub, uri) : -EINVAL;
}

int load_dial(const char *at) {
    struct hub_address hub;
    return read_place(at, &hub) < 0 ? -EINVAL : hub_address_dial(&hub);
}

int load_dial_upgraded(const char *at, struct bridge **bridge) {
    struct hub_address hub;
    char line[LINE_BYTES_MAX];
    *bridge = NULL;
    int dialled = read_place(at, &hub) < 0 ? -EINVAL : hub_address_dial(&hub);
    if (dialled < 0 || !hub.address.secure) {
        return dialled;
    }
    ssize_t heard = load_hear_line(dialled, line, sizeof line);
    return heard < 0 ? load_greeted(dialled, (int)heard) : tls_bridge_begin(dialled, &hub, bridge);
}

int load_say(int socket, const void *bytes, size_t count) {
    const char *at = bytes;
    while (count > 0) {
        ssize_t sent = send(socket, at, count, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) {
            return -errno;
        }
        at += sent < 0 ? 0 : sent;
        count -= sent < 0 ? 0 : (size_t)sent;
    }
    return 0;
}

int load_hear(int socket, void *bytes, size_t count) {
    char *at = bytes;
    while (count > 0) {
        ssize_t received = recv(socket, at, count, 0);
        if (received == 0) {
            return -ECONNRESET;
        }
        if (received < 0 && errno != EINTR) {
            return -errno;
        }
        at += received < 0 ? 0 : received;
        count -= received < 0 ? 0 : (size_t)received;
    }
    return 0;
}

ssize_t load_hear_line(int socket, char *line, size_t capacity) {
    for (size_t length = 0; length < capacity;) {
        int error = load_hear(socket, line + length, 1);
        if (error < 0) {
            return error;
        }
        if (line[length++] == '\n') {
            return (ssize_t)length;
        }
    }
    return -EPROTO;
}

int load_greeted(int socket, int error) {
    if (error == 0) {
        return socket;
    }
    close(socket);
    return error;
}

int load_greeted_over(int socket, int error, struct bridge *bridge, SSL **ssl) {
    if (bridge == NULL || error < 0) {
        int result = load_greeted(socket, error);
        bridge_close(bridge);
        return result;
    }
    struct bridge_socket server = bridge_release(bridge, socket);
    *ssl = server.ssl;
    return server.socket;
}

uint8_t *load_put(uint8_t *out, const void *from, size_t bytes) {
    memcpy(out, from, bytes);
    return out + bytes;
}
