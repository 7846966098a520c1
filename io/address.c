// Reads and writes addresses as URIs. Looks up no names: no resolver, no files.
//
// Success: a URI becomes a socket address, and the socket address becomes the same URI again. Failure: -EINVAL, if any
// byte of a text doesn't fit the forms of io/address.h.
#include "io/address.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "io/io.h"

enum { HOST_BYTES_MAX = INET6_ADDRSTRLEN, PORT_DIGITS_MAX = 5, PORT_MAX = 65535 };

static const char TCP_SCHEME[] = "tcp";
static const char TLS_SCHEME[] = "tls";
static const char UNIX_SCHEME[] = "unix";
static const char BEHIND_SCHEME[] = "://";

// Schemes that name a transport; all are over TCP.
static const struct spoken {
    const char *scheme, *transport;
    bool secure;
} SPOKEN_SCHEMES[] = {
    {"http", "http", false}, {"https", "http", true}, {"ws", "ws", false}, {"wss", "ws", true}};
enum { SPOKEN_SCHEMES_COUNT = sizeof SPOKEN_SCHEMES / sizeof *SPOKEN_SCHEMES };

static int parse_port(const char *text, uint16_t *port) {
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > PORT_DIGITS_MAX || text[digits] != '\0')
        return -EINVAL;
    unsigned long value = strtoul(text, NULL, 10);
    if (value > PORT_MAX)
        return -EINVAL;
    *port = (uint16_t)value;
    return 0;
}

static int set_ipv4(struct address *address, const char *host, uint16_t port) {
    struct sockaddr_in *in = (struct sockaddr_in *)&address->storage;
    *in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
    address->bytes = sizeof *in;
    if (strcmp(host, "localhost") == 0)
        host = "127.0.0.1";
    return inet_pton(AF_INET, host, &in->sin_addr) == 1 ? 0 : -EINVAL;
}

static int set_ipv6(struct address *address, const char *host, uint16_t port) {
    struct sockaddr_in6 *in = (struct sockaddr_in6 *)&address->storage;
    *in = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
    address->bytes = sizeof *in;
    return inet_pton(AF_INET6, host, &in->sin6_addr) == 1 ? 0 : -EINVAL;
}

// Reads HOST:PORT or [V6]:PORT.
static int parse_tcp(struct address *address, const char *text) {
    bool bracketed = text[0] == '[';
    const char *begin = text + bracketed;
    const char *end = strchr(begin, bracketed ? ']' : ':');
    if (!end || end - begin >= HOST_BYTES_MAX)
        return -EINVAL;
    char host[HOST_BYTES_MAX];
    size_t bytes = (size_t)(end - begin);
    memcpy(host, begin, bytes);
    host[bytes] = '\0';
    end += bracketed;
    uint16_t port;
    if (*end != ':' || parse_port(end + 1, &port) < 0)
        return -EINVAL;
    return bracketed ? set_ipv6(address, host, port) : set_ipv4(address, host, port);
}

// Reads three octal digits, perhaps after a zero. The owner is the hub, and must have the rights to read and write.
static int parse_mode(struct address *address, const char *text, size_t bytes) {
    if (bytes == 4 && *text == '0') {
        text++;
        bytes--;
    }
    if (bytes != 3 || strspn(text, "01234567") < bytes || address->mode)
        return -EINVAL;
    address->mode = (mode_t)strtoul(text, NULL, 8);
    return (address->mode & 0600) == 0600 ? 0 : -EINVAL;
}

static int parse_group(struct address *address, const char *text, size_t bytes) {
    if (bytes == 0 || bytes > ADDRESS_GROUP_BYTES_MAX || address->group[0])
        return -EINVAL;
    memcpy(address->group, text, bytes);
    return 0;
}

// Reads the query of a Unix socket's URI: the text after `?`.
static int parse_file(struct address *address, const char *text) {
    static const char mode[] = "mode=", group[] = "group=";
    int result = 0;
    for (bool more = true; more && result == 0;) {
        size_t bytes = strcspn(text, "&");
        if (strncmp(text, mode, sizeof mode - 1) == 0)
            result = parse_mode(address, text + sizeof mode - 1, bytes - (sizeof mode - 1));
        else if (strncmp(text, group, sizeof group - 1) == 0)
            result = parse_group(address, text + sizeof group - 1, bytes - (sizeof group - 1));
        else
            result = -EINVAL;
        more = text[bytes] == '&';
        text += bytes + more;
    }
    return result;
}

static int parse_unix(struct address *address, const char *path) {
    struct sockaddr_un *un = (struct sockaddr_un *)&address->storage;
    size_t bytes = strcspn(path, "?");
    if (path[0] != '/' || path[bytes - 1] == '/' || bytes >= sizeof un->sun_path)
        return -EINVAL;
    if (path[bytes] == '?' && parse_file(address, path + bytes + 1) < 0)
        return -EINVAL;
    un->sun_family = AF_UNIX;
    memcpy(un->sun_path, path, bytes);
    address->bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + bytes + 1);
    return 0;
}

// Reads the text between the scheme and `end`: nothing, or a hyphen and the transport's name in lower-case letters.
static int parse_transport(struct address *address, const char *text, const char *end) {
    if (text == end)
        return 0;
    size_t bytes = (size_t)(end - text) - 1;
    if (text[0] != '-' || bytes == 0 || bytes > ADDRESS_TRANSPORT_BYTES_MAX ||
        strspn(text + 1, "abcdefghijklmnopqrstuvwxyz") < bytes)
        return -EINVAL;
    memcpy(address->transport, text + 1, bytes);
    return 0;
}

static bool is_scheme(const char *uri, const char *scheme) {
    return strncmp(uri, scheme, strlen(scheme)) == 0;
}

// Returns the scheme's row in SPOKEN_SCHEMES, or NULL.
static const struct spoken *find_transport(const char *scheme, size_t bytes) {
    for (const struct spoken *transports = SPOKEN_SCHEMES; transports < SPOKEN_SCHEMES + SPOKEN_SCHEMES_COUNT;
         transports++)
        if (strlen(transports->scheme) == bytes && memcmp(transports->scheme, scheme, bytes) == 0)
            return transports;
    return NULL;
}

static int read_uri(struct address *address, const char *uri) {
    const char *end = strstr(uri, BEHIND_SCHEME);
    const struct spoken *transports = end ? find_transport(uri, (size_t)(end - uri)) : NULL;
    if (transports) {
        strcpy(address->transport, transports->transport);
        address->secure = transports->secure;
        return parse_tcp(address, end + sizeof BEHIND_SCHEME - 1);
    }
    bool local = is_scheme(uri, UNIX_SCHEME);
    address->secure = is_scheme(uri, TLS_SCHEME);
    if (!end || !(local || address->secure || is_scheme(uri, TCP_SCHEME)))
        return -EINVAL;
    if (parse_transport(address, uri + strlen(local ? UNIX_SCHEME : TCP_SCHEME), end))
        return -EINVAL;
    end += sizeof BEHIND_SCHEME - 1;
    return local ? parse_unix(address, end) : parse_tcp(address, end);
}

// Reads a URI. After a failure the address is zeroed: its transport or mode would otherwise count as a listener's.
int address_parse(struct address *address, const char *uri) {
    *address = (struct address){0};
    int failed = read_uri(address, uri);
    if (failed)
        *address = (struct address){0};
    return failed;
}

bool address_place(struct address *address, const char *host, bool is_v6, uint16_t port) {
    assert(*host);
    *address = (struct address){0};
    int failed = is_v6 ? set_ipv6(address, host, port) : set_ipv4(address, host, port);
    if (failed)
        *address = (struct address){0};
    return !failed;
}

static int print_scheme(const struct address *address, const char *scheme, char *out, size_t capacity) {
    for (size_t index = 0; index < SPOKEN_SCHEMES_COUNT; index++)
        if (strcmp(SPOKEN_SCHEMES[index].transport, address->transport) == 0 &&
            SPOKEN_SCHEMES[index].secure == address->secure)
            return snprintf(out, capacity, "%s%s", SPOKEN_SCHEMES[index].scheme, BEHIND_SCHEME);
    const char *hyphen = address->transport[0] ? "-" : "";
    return snprintf(out, capacity, "%s%s%s%s", scheme, hyphen, address->transport, BEHIND_SCHEME);
}

static int print_ipv4(const struct address *address, char *out, size_t capacity) {
    const struct sockaddr_in *in = (const struct sockaddr_in *)&address->storage;
    char host[HOST_BYTES_MAX];
    inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
    return snprintf(out, capacity, "%s:%u", host, ntohs(in->sin_port));
}

static int print_ipv6(const struct address *address, char *out, size_t capacity) {
    const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)&address->storage;
    char host[HOST_BYTES_MAX];
    inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof host);
    return snprintf(out, capacity, "[%s]:%u", host, ntohs(in->sin6_port));
}

// Writes a Unix socket's path. The kernel may give a path that fills sun_path without a zero, and an unnamed socket has
// no path.
static int print_unix(const struct address *address, char *out, size_t capacity) {
    const struct sockaddr_un *un = (const struct sockaddr_un *)&address->storage;
    size_t before = offsetof(struct sockaddr_un, sun_path);
    size_t bytes = address->bytes > before ? address->bytes - before : 0;
    if (bytes > 1 && !un->sun_path[0]) // an abstract name, with `@` as ss(8) writes it
        return snprintf(out, capacity, "@%.*s", (int)strnlen(un->sun_path + 1, bytes - 1), un->sun_path + 1);
    return snprintf(out, capacity, "%.*s", (int)strnlen(un->sun_path, bytes), un->sun_path);
}

static int print_place(const struct address *address, char *out, size_t capacity) {
    switch (address->storage.ss_family) {
    case AF_INET:
        return print_ipv4(address, out, capacity);
    case AF_INET6:
        return print_ipv6(address, out, capacity);
    case AF_UNIX:
        return print_unix(address, out, capacity);
    default:
        return snprintf(out, capacity, "unknown");
    }
}

static size_t cut(int bytes, size_t capacity) {
    if (capacity == 0 || bytes < 0)
        return 0;
    return (size_t)bytes < capacity ? (size_t)bytes : capacity - 1;
}

size_t address_format(const struct address *address, char *out, size_t capacity) {
    sa_family_t family = address->storage.ss_family;
    const char *scheme = family == AF_UNIX ? UNIX_SCHEME : address->secure ? TLS_SCHEME : TCP_SCHEME;
    size_t at = 0;
    if (family == AF_INET || family == AF_INET6 || family == AF_UNIX)
        at = cut(print_scheme(address, scheme, out, capacity), capacity);
    return at + cut(print_place(address, out + at, capacity - at), capacity - at);
}

unsigned address_port(const struct address *address) {
    assert(address->bytes > 0);
    if (address->storage.ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)&address->storage)->sin6_port);
    if (address->storage.ss_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)&address->storage)->sin_port);
    return 0;
}

bool address_is_local(const struct address *address) {
    switch (address->storage.ss_family) {
    case AF_UNIX:
        return true;
    case AF_INET:
        return ntohl(((const struct sockaddr_in *)&address->storage)->sin_addr.s_addr) >> 24 ==
               IN_LOOPBACKNET;
    case AF_INET6:
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)&address->storage)->sin6_addr);
    default:
        return false;
    }
}

int address_default_unix(char *uri, size_t capacity) {
    // XDG Base Directory Specification: a relative path in this variable must be ignored.
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    int bytes;
    if (runtime && runtime[0] == '/')
        bytes = snprintf(uri, capacity, "unix://%s/patchbay.sock", runtime);
    else if (geteuid() == 0)
        bytes = snprintf(uri, capacity, "unix:///run/patchbay/patchbay.sock");
    else
        bytes = snprintf(uri, capacity, "unix:///tmp/patchbay-%u/patchbay.sock", (unsigned)geteuid());
    size_t path_bytes = (size_t)bytes - (sizeof "unix://" - 1);
    bool fits =
        bytes >= 0 && (size_t)bytes < capacity && path_bytes < sizeof((struct sockaddr_un *)0)->sun_path;
    return fits ? 0 : -ENAMETOOLONG;
}

void address_of_peer(const struct io_peer_address *from, char out[ADDRESS_PEER_BYTES]) {
    if (from->is_user)
        snprintf(out, ADDRESS_PEER_BYTES, "uid %u", from->user);
    else if (!inet_ntop(from->is_v4 ? AF_INET : AF_INET6, from->address, out, ADDRESS_PEER_BYTES))
        out[0] = '\0';
    assert(out[0]);
}
