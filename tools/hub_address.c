#include "tools/hub_address.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "io/listener.h"

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
static const char characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";

// Returns whether HOST is a name: its last label begins with a letter. Other text is an address, or malformed.
static bool is_name(const char *host, size_t bytes) {
    if (bytes == 0 || bytes > HUB_ADDRESS_NAME_BYTES_MAX || strspn(host, characters) != bytes) {
        return false;
    }
    size_t last = bytes;
    while (last > 0 && host[last - 1] != '.') {
        last--;
    }
    return last < bytes && strchr(letters, host[last]) != NULL;
}

// Reads a URI with a name by putting an address in the place of the name.
int hub_address_parse(struct hub_address *hub, const char *uri) {
    static const char any[] = "0.0.0.0", behind_scheme[] = "://";
    char plain[64];
    *hub = (struct hub_address){0};
    const char *host = strstr(uri, behind_scheme);
    host = host == NULL ? uri : host + sizeof behind_scheme - 1;
    size_t bytes = strcspn(host, ":/");
    if (!is_name(host, bytes)) {
        return address_parse(&hub->address, uri);
    }
    int written = snprintf(plain, sizeof plain, "%.*s%s%s", (int)(host - uri), uri, any, host + bytes);
    if (written < 0 || (size_t)written >= sizeof plain || address_parse(&hub->address, plain) < 0) {
        return -EINVAL;
    }
    memcpy(hub->name, host, bytes);
    return 0;
}

static void set_port(struct sockaddr *to, const struct sockaddr_storage *from) {
    in_port_t port = ((const struct sockaddr_in *)from)->sin_port;
    if (to->sa_family == AF_INET6) {
        ((struct sockaddr_in6 *)to)->sin6_port = port;
    } else {
        ((struct sockaddr_in *)to)->sin_port = port;
    }
}

int hub_address_dial(const struct hub_address *hub) {
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (hub->name[0] == '\0') {
        return listener_dial(&hub->address);
    }
    if (getaddrinfo(hub->name, NULL, &hints, &found) != 0) {
        return -ENONET;
    }
    int dialled = -ENONET;
    for (const struct addrinfo *each = found; each != NULL && dialled < 0; each = each->ai_next) {
        struct address address = hub->address;
        memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
        address.bytes = each->ai_addrlen;
        set_port((struct sockaddr *)&address.storage, &hub->address.storage);
        int tried = listener_dial(&address);
        dialled = tried >= 0 || dialled == -ENONET ? tried : dialled;
    }
    freeaddrinfo(found);
    return dialled;
}
