#include "io/passed_sockets.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { FIRST = 3 };

static struct passed_socket passed[PASSED_SOCKETS_MAX];
static uint32_t passed_count;

// Reads a decimal number without other characters. Returns -1 for other texts.
static long read_number(const char *text) {
    char *end = NULL;
    errno = 0;
    long number = text && *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : -1;
    return number >= 0 && !errno && !*end ? number : -1;
}

static int option_of(int socket, int option) {
    int value = 0;
    socklen_t bytes = sizeof value;
    return getsockopt(socket, SOL_SOCKET, option, &value, &bytes) == 0 ? value : -1;
}

// Takes one socket. Makes the socket blocking: else io_uring's accept would end at once.
static int take_one(struct passed_socket *one, int socket) {
    int flags = fcntl(socket, F_GETFL);
    assert(socket >= FIRST);
    *one = (struct passed_socket){.socket = socket, .address.bytes = sizeof one->address.storage};
    bool listens =
        flags >= 0 && option_of(socket, SO_TYPE) == SOCK_STREAM && option_of(socket, SO_ACCEPTCONN) == 1;
    struct sockaddr *name = (struct sockaddr *)&one->address.storage;
    if (!listens || getsockname(socket, name, &one->address.bytes) < 0)
        return -EINVAL;
    bool is_known = name->sa_family == AF_INET || name->sa_family == AF_INET6 || name->sa_family == AF_UNIX;
    if (!is_known || fcntl(socket, F_SETFL, flags & ~O_NONBLOCK) < 0 ||
        fcntl(socket, F_SETFD, FD_CLOEXEC) < 0)
        return -EINVAL;
    return 0;
}

// Splits LISTEN_FDNAMES: names are separated by colons.
static void take_names(const char *names) {
    for (uint32_t at = 0; at < passed_count && names; at++) {
        size_t bytes = strcspn(names, ":");
        if (bytes < sizeof passed[at].name)
            memcpy(passed[at].name, names, bytes);
        names = names[bytes] ? names + bytes + 1 : NULL;
    }
}

static void forget_environment(void) {
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
}

int passed_sockets_take(const char **why) {
    const char *process = getenv("LISTEN_PID"), *sockets = getenv("LISTEN_FDS");
    static char refused[96];
    int result = 0;
    if (!process || !sockets || read_number(process) != (long)getpid()) {
        forget_environment();
        return 0;
    }
    long count = read_number(sockets);
    *why = count < 0 ? "LISTEN_FDS: expected a number from 0 to 16"
                     : "LISTEN_FDS: expected a number from 0 to 16, as the hub serves 16 addresses at most";
    if (count < 0 || count > PASSED_SOCKETS_MAX)
        result = -EINVAL;
    for (long at = 0; at < count && result == 0; at++) {
        result = take_one(&passed[at], FIRST + (int)at);
        if (result < 0)
            snprintf(refused, sizeof refused,
                     "LISTEN_FDS: descriptor %d: expected a stream socket that listens", FIRST + (int)at);
        *why = refused;
    }
    passed_count = result == 0 ? (uint32_t)count : 0;
    take_names(getenv("LISTEN_FDNAMES"));
    forget_environment();
    return result;
}

const struct passed_socket *passed_sockets_all(uint32_t *count) {
    *count = passed_count;
    return passed;
}

// Returns whether two Unix addresses are the same. An abstract name begins with a zero byte, and its length counts.
static bool is_same_path(const struct address *one, const struct address *other) {
    const struct sockaddr_un *un = (const void *)&one->storage, *other_un = (const void *)&other->storage;
    if (un->sun_path[0] || other_un->sun_path[0])
        return strcmp(un->sun_path, other_un->sun_path) == 0;
    return one->bytes == other->bytes &&
           memcmp(un->sun_path, other_un->sun_path, one->bytes - offsetof(struct sockaddr_un, sun_path)) == 0;
}

static bool is_bound_to(const struct address *one, const struct address *other) {
    const struct sockaddr_in *in = (const void *)&one->storage, *other_in = (const void *)&other->storage;
    const struct sockaddr_in6 *in6 = (const void *)&one->storage, *other_in6 = (const void *)&other->storage;
    if (one->storage.ss_family != other->storage.ss_family)
        return false;
    if (one->storage.ss_family == AF_INET)
        return in->sin_port == other_in->sin_port && in->sin_addr.s_addr == other_in->sin_addr.s_addr;
    if (one->storage.ss_family == AF_INET6)
        return in6->sin6_port == other_in6->sin6_port &&
               memcmp(&in6->sin6_addr, &other_in6->sin6_addr, sizeof in6->sin6_addr) == 0;
    return is_same_path(one, other);
}

const struct passed_socket *passed_sockets_find(const struct address *address) {
    for (uint32_t at = 0; at < passed_count; at++)
        if (is_bound_to(&passed[at].address, address))
            return &passed[at];
    return NULL;
}
