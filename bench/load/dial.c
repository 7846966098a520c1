// See dial.h. It goes well: the other side answers a greeting as its protocol says. It fails: each failure of
// a call, and an end of the connection, comes back as a negative errno.
#include "bench/load/dial.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/address.h"
#include "io/listener.h"

int load_dial(const char *at) {
    char uri[256];
    struct address address;
    const char *scheme = strstr(at, "://") == NULL ? "tcp://" : "";
    if ((size_t)snprintf(uri, sizeof uri, "%s%s", scheme, at) >= sizeof uri ||
        address_parse(&address, uri) < 0) {
        return -EINVAL;
    }
    return listener_dial(&address);
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

uint8_t *load_put(uint8_t *out, const void *from, size_t bytes) {
    memcpy(out, from, bytes);
    return out + bytes;
}
