#include "io/listener_check.h"

#include <assert.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { LISTENS_TCP = 0x0A, LISTENS_UNIX = 1 << 16, LINE_BYTES = 512 };

// --- TCP

static const struct in_addr *v4_of(const struct address *address) {
    return &((const struct sockaddr_in *)&address->storage)->sin_addr;
}

static const struct in6_addr *v6_of(const struct address *address) {
    return &((const struct sockaddr_in6 *)&address->storage)->sin6_addr;
}

static bool is_v6(const struct address *address) {
    return address->storage.ss_family == AF_INET6;
}

// Whether the address of a line, as words in the kernel's order, is in the way of the other.
static bool is_in_way(const struct address *address, const uint32_t words[4], bool of_v6) {
    static const uint32_t any[4] = {0};
    bool is_any = memcmp(words, any, of_v6 ? sizeof any : sizeof *any) == 0;
    if (is_v6(address))
        return of_v6 && (is_any || IN6_IS_ADDR_UNSPECIFIED(v6_of(address)) ||
                         memcmp(words, v6_of(address), sizeof any) == 0);
    if (of_v6) // one of all addresses may take those of IPv4, too
        return is_any;
    return is_any || v4_of(address)->s_addr == INADDR_ANY || words[0] == v4_of(address)->s_addr;
}

static bool is_line_in_way(const struct address *address, const char *line, bool of_v6) {
    uint32_t words[4] = {0};
    unsigned port, state;
    int count = of_v6 ? sscanf(line, " %*d: %8x%8x%8x%8x:%x %*x:%*x %x", &words[0], &words[1], &words[2],
                               &words[3], &port, &state)
                      : sscanf(line, " %*d: %8x:%x %*x:%*x %x", &words[0], &port, &state);
    bool is_read = count == (of_v6 ? 6 : 3);
    return is_read && state == LISTENS_TCP && port == address_port(address) &&
           is_in_way(address, words, of_v6);
}

static bool is_taken(const struct address *address, const char *table, bool of_v6) {
    char line[LINE_BYTES];
    bool taken = false;
    FILE *file = fopen(table, "re");
    while (file && !taken && fgets(line, sizeof line, file))
        taken = is_line_in_way(address, line, of_v6);
    if (file)
        fclose(file);
    return taken;
}

static bool is_same(const struct address *address, const struct sockaddr *other) {
    if (!other || other->sa_family != address->storage.ss_family)
        return false;
    if (is_v6(address))
        return memcmp(v6_of(address), &((const struct sockaddr_in6 *)other)->sin6_addr,
                      sizeof(struct in6_addr)) == 0;
    return v4_of(address)->s_addr == ((const struct sockaddr_in *)other)->sin_addr.s_addr;
}

// Whether it is one of this machine's; where these can't be told it counts as one.
static bool is_own(const struct address *address) {
    struct ifaddrs *all = NULL;
    bool is_any =
        is_v6(address) ? IN6_IS_ADDR_UNSPECIFIED(v6_of(address)) : v4_of(address)->s_addr == INADDR_ANY;
    if (is_any || address_is_local(address) || getifaddrs(&all) < 0)
        return true;
    bool own = false;
    for (const struct ifaddrs *one = all; one && !own; one = one->ifa_next)
        own = is_same(address, one->ifa_addr);
    freeifaddrs(all);
    return own;
}

static int check_tcp(const struct address *address, bool shared, const char **why) {
    bool is_picked = address_port(address) == 0;
    if (!is_own(address)) {
        *why = "it is no address of this machine";
        return -EADDRNOTAVAIL;
    }
    bool is_used = !is_picked && !shared &&
                   (is_taken(address, "/proc/net/tcp", false) || is_taken(address, "/proc/net/tcp6", true));
    *why = "another process uses this port";
    return is_used ? -EADDRINUSE : 0;
}

// --- Unix

static const char *path_of(const struct address *address) {
    return ((const struct sockaddr_un *)&address->storage)->sun_path;
}

static bool is_listened_on(const char *path) {
    char line[LINE_BYTES];
    bool found = false;
    FILE *file = fopen("/proc/net/unix", "re");
    while (file && !found && fgets(line, sizeof line, file)) {
        unsigned flags = 0;
        int at = 0;
        line[strcspn(line, "\n")] = '\0';
        found = sscanf(line, "%*p: %*x %*x %x %*x %*x %*d %n", &flags, &at) == 1 && at > 0 &&
                flags & LISTENS_UNIX && strcmp(line + at, path) == 0;
    }
    if (file)
        fclose(file);
    return found;
}

static int check_folder(const char *path, const char **why) {
    char folder[sizeof(struct sockaddr_un)];
    const char *end = strrchr(path, '/');
    assert(end && (size_t)(end - path) < sizeof folder);
    snprintf(folder, sizeof folder, "%.*s", end == path ? 1 : (int)(end - path), path);
    *why = "the socket's folder can't be written to";
    return access(folder, W_OK | X_OK) < 0 ? -errno : 0;
}

static bool is_default(const char *path) {
    char uri[sizeof(struct sockaddr_un) + 16];
    struct address own;
    return address_default_unix(uri, sizeof uri) == 0 && address_parse(&own, uri) == 0 &&
           strcmp(path_of(&own), path) == 0;
}

static int check_unix(const char *path, bool shared, const char **why) {
    struct stat status;
    int folder = check_folder(path, why);
    if (folder < 0)
        return folder == -ENOENT && is_default(path) ? 0 : folder; // the hub makes it
    if (lstat(path, &status) < 0)
        return 0;
    *why = "a file that is no socket is in the way";
    if (!S_ISSOCK(status.st_mode))
        return -EEXIST;
    *why = "another process uses this socket";
    return !shared && is_listened_on(path) ? -EADDRINUSE : 0;
}

int listener_check(const struct address *address, bool shared, const char **why) {
    bool is_unix = address->storage.ss_family == AF_UNIX;
    return is_unix ? check_unix(path_of(address), shared, why) : check_tcp(address, shared, why);
}
