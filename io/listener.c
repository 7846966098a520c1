#include "io/listener.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

// Listening sockets, and sockets of clients.
//
// Success: the socket is bound and listens, and the listener has the bound address. Failure: -errno and a reason, and
// no file or socket is left. The file of a Unix socket that an earlier hub has left is removed once a connection to it
// is refused. A file that isn't a socket, or on which a process listens, stays. The default socket's directory must be
// writable for this user alone: else another user could place a hub of their own there.
//
// The directory of a Unix socket is locked while this process checks for another listener, until it listens itself, and
// while it removes the file. If two hubs start at a time, one gets the path. The lock is flock's, on the directory
// itself. Such a lock leaves no file, and works between all processes that share the directory.

enum { BACKLOG = 4096, URI_BYTES_MAX = 256, LOCK_TRIES = 500, LOCK_PAUSE_NS = 10000000 };

static const char address_is_foreign[] = "expected an address of this machine",
                  port_is_used[] = "expected a free port: another process uses this port",
                  folder_is_unusable[] = "expected a folder that can be written, in which the socket is made";

static const char *path_of(const struct address *address) {
    return ((const struct sockaddr_un *)&address->storage)->sun_path;
}

static const struct sockaddr *sockaddr_of(const struct address *address) {
    return (const struct sockaddr *)&address->storage;
}

static bool is_unix(const struct address *address) {
    return address->storage.ss_family == AF_UNIX;
}

static bool is_default(const struct address *address) {
    char uri[URI_BYTES_MAX];
    struct address own;
    return is_unix(address) && address_default_unix(uri, sizeof uri) == 0 && address_parse(&own, uri) == 0 &&
           strcmp(path_of(&own), path_of(address)) == 0;
}

static void directory_of(const struct address *address, char out[URI_BYTES_MAX]) {
    const char *path = path_of(address);
    size_t bytes = (size_t)(strrchr(path, '/') - path);
    memcpy(out, path, bytes);
    out[bytes] = '\0';
}

static int open_directory(const struct address *address) {
    char directory[URI_BYTES_MAX];
    directory_of(address, directory);
    int folder = open(directory[0] ? directory : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return folder < 0 ? -errno : folder;
}

// Locks the directory of a Unix socket. Waits at most 5 s for another process's lock, because any process may lock a
// shared directory. Returns 0 or -errno.
static int lock_directory(int lock) {
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};
    int result = flock(lock, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
    for (int tries = LOCK_TRIES; (result == -EWOULDBLOCK || result == -EINTR) && tries > 0; tries--) {
        nanosleep(&pause, NULL);
        result = flock(lock, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
    }
    return result;
}

// Checks that the directory is this user's alone. lstat doesn't follow a symbolic link, which anyone can make in /tmp.
static int check_directory(const char *directory) {
    struct stat status;
    if (lstat(directory, &status) < 0)
        return -errno;
    if (!S_ISDIR(status.st_mode))
        return -ENOTDIR;
    bool ours = status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
    return ours ? 0 : -EPERM;
}

static int make_directory(const struct address *address, const char **why) {
    char directory[URI_BYTES_MAX];
    directory_of(address, directory);
    if (mkdir(directory, S_IRWXU) < 0 && errno != EEXIST) {
        *why = "the default socket's folder can't be made, and --listen names no other address";
        return -errno;
    }
    int result = check_directory(directory);
    if (result < 0)
        *why =
            "expected a folder of this user's alone for the default socket, or --listen with another address";
    return result;
}

// Checks that the file is a socket on which no process listens. Returns 0 or -errno.
static int check_abandoned(const struct address *address, const char **why) {
    struct stat status;
    if (lstat(path_of(address), &status) < 0 || !S_ISSOCK(status.st_mode)) {
        *why = "expected a path without a file, or with a socket that nobody uses";
        return -EEXIST;
    }
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0) {
        *why = "no socket can be made";
        return -errno;
    }
    bool refused = connect(probe, sockaddr_of(address), address->bytes) < 0 && errno == ECONNREFUSED;
    close(probe);
    if (refused)
        return 0;
    *why = "expected a free path: another process uses this socket";
    return -EADDRINUSE;
}

// Binds a Unix socket whose file has its mode from the first moment. Changes the umask of the whole process: no other
// thread runs yet.
static int bind_private(int socket, const struct address *address) {
    mode_t before = umask(S_IXUSR | S_IRWXG | S_IRWXO);
    int result = bind(socket, sockaddr_of(address), address->bytes) < 0 ? -errno : 0;
    umask(before);
    return result;
}

static int listen_at(struct listener *listener, const char **why) {
    if (listen(listener->socket, BACKLOG) == 0)
        return 0;
    *why = "the socket can't listen";
    return -errno;
}

static int listen_and_rename(struct listener *listener, const char *aside, const char **why) {
    int result = listen_at(listener, why);
    if (result == 0 && rename(aside, path_of(&listener->address)) < 0)
        result = -errno;
    if (result < 0)
        unlink(aside);
    return result;
}

// Binds a file with another name in the same directory, listens, and renames the file over the path. A client that
// connects reaches one of both hubs at any time. Only a socket's file is replaced.
static int listen_over(struct listener *listener, const char **why) {
    struct address aside = listener->address;
    struct sockaddr_un *name = (struct sockaddr_un *)&aside.storage;
    struct stat status;
    size_t bytes = strlen(name->sun_path);
    int count = snprintf(name->sun_path + bytes, sizeof name->sun_path - bytes, ".%d", (int)getpid());
    *why = "the socket's file can't be made";
    if (count < 0 || (size_t)count >= sizeof name->sun_path - bytes)
        return -ENAMETOOLONG;
    aside.bytes = sizeof *name;
    if (lstat(path_of(&listener->address), &status) == 0 && !S_ISSOCK(status.st_mode))
        return -EEXIST;
    unlink(name->sun_path); // left by a killed hub with the same process number
    int result = bind_private(listener->socket, &aside);
    return result < 0 ? result : listen_and_rename(listener, name->sun_path, why);
}

static int listen_alone(struct listener *listener, const char **why) {
    int result = bind_private(listener->socket, &listener->address);
    if (result == -EADDRINUSE) {
        result = check_abandoned(&listener->address, why);
        if (result < 0)
            return result;
        unlink(path_of(&listener->address));
        result = bind_private(listener->socket, &listener->address);
    }
    if (result == 0)
        return listen_at(listener, why);
    *why = "the socket's file can't be made";
    return result;
}

// Binds and listens on a Unix socket. The caller has locked the directory.
static int bind_and_listen_unix(struct listener *listener, bool shared, const char **why) {
    struct stat status;
    int result = shared ? listen_over(listener, why) : listen_alone(listener, why);
    if (result < 0)
        return result;
    if (lstat(path_of(&listener->address), &status) < 0) {
        *why = "the socket's file can't be made";
        return -errno;
    }
    listener->file_device = status.st_dev;
    listener->file_number = status.st_ino;
    return 0;
}

static int open_unix(struct listener *listener, bool shared, const char **why) {
    int result = is_default(&listener->address) ? make_directory(&listener->address, why) : 0;
    if (result < 0)
        return result;
    *why = folder_is_unusable;
    result = listener->folder = open_directory(&listener->address);
    if (result < 0)
        return result;
    *why = "the socket's directory can't be locked";
    result = lock_directory(listener->folder);
    if (result < 0)
        return result;
    result = bind_and_listen_unix(listener, shared, why);
    flock(listener->folder, LOCK_UN);
    return result;
}

// Chooses Reno for an address of this machine. Loopback has no bandwidth that congestion control could find out; every
// kernel has Reno, which doesn't pace. BBR, if it is the machine's choice, paces each send by a timer. If the kernel
// refuses, the machine's choice stays.
static void choose_congestion_control(int socket) {
    (void)setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, "reno", strlen("reno"));
}

static int open_tcp(struct listener *listener, bool shared, const char **why) {
    int on = 1;
    int socket = listener->socket;
    // An IPv6 socket takes only IPv6: the same port on IPv4 is a separate address.
    bool set = setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
               setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0 &&
               (!shared || setsockopt(socket, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0) &&
               (listener->address.storage.ss_family != AF_INET6 ||
                setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) == 0);
    if (!set) {
        *why = "a socket option was refused";
        return -errno;
    }
    if (address_is_local(&listener->address))
        choose_congestion_control(socket);
    if (bind(socket, sockaddr_of(&listener->address), listener->address.bytes) < 0) {
        *why = errno == EADDRINUSE      ? port_is_used
               : errno == EADDRNOTAVAIL ? address_is_foreign
                                        : "the address can't be bound";
        return -errno;
    }
    listener->address.bytes = sizeof listener->address.storage;
    if (getsockname(socket, (struct sockaddr *)&listener->address.storage, &listener->address.bytes) < 0) {
        *why = "the bound address can't be read";
        return -errno;
    }
    return listen_at(listener, why);
}

int listener_open(struct listener *listener, const struct address *address, bool shared, const char **why) {
    *listener = (struct listener){.address = *address, .socket = -1, .folder = -1};
    listener->socket = socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener->socket < 0) {
        *why = "no socket can be made";
        return -errno;
    }
    int result = is_unix(address) ? open_unix(listener, shared, why) : open_tcp(listener, shared, why);
    if (result < 0)
        listener_close(listener);
    return result;
}

void listener_adopt(struct listener *listener, const struct address *address, int socket) {
    int on = 1;
    *listener = (struct listener){.address = *address, .socket = socket, .folder = -1};
    if (is_unix(address))
        return;
    (void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (address_is_local(address))
        choose_congestion_control(socket);
}

// Removes the socket's file, if it is still the file that this listener has made. Without the lock the file stays, as
// after a killed hub.
static void remove_file(const struct listener *listener) {
    struct stat status;
    if (lock_directory(listener->folder) < 0)
        return;
    if (lstat(path_of(&listener->address), &status) == 0 && status.st_dev == listener->file_device &&
        status.st_ino == listener->file_number)
        unlink(path_of(&listener->address));
}

// Opens the socket's file, if it is still the file that this listener has made: in a shared directory another file may
// have the path. Returns a descriptor for changes of owner and mode only, or -errno.
static int open_file(const struct listener *listener) {
    struct stat status;
    int file = open(path_of(&listener->address), O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0)
        return -errno;
    if (fstat(file, &status) == 0 && status.st_dev == listener->file_device &&
        status.st_ino == listener->file_number)
        return file;
    close(file);
    return -ESTALE;
}

int listener_give(const struct listener *listener, uid_t user) {
    if (!is_unix(&listener->address))
        return 0;
    int file = open_file(listener);
    if (file < 0)
        return file;
    int result = fchownat(file, "", user, (gid_t)-1, AT_EMPTY_PATH) < 0 ? -errno : 0;
    close(file);
    return result;
}

static int find_group(const char *name, gid_t *out) {
    char *end;
    unsigned long number = strtoul(name, &end, 10);
    const struct group *group = *end ? getgrnam(name) : NULL;
    *out = group ? group->gr_gid : (gid_t)number;
    return group || (!*end && number < (gid_t)-1) ? 0 : -ENOENT;
}

bool listener_has_group(const struct address *address) {
    gid_t group;
    return !address->group[0] || find_group(address->group, &group) == 0;
}

int listener_share(const struct listener *listener) {
    const struct address *address = &listener->address;
    gid_t group = (gid_t)-1;
    char path[64];
    int result = address->group[0] ? find_group(address->group, &group) : 0;
    if (result < 0 || !(address->mode || address->group[0]))
        return result;
    int file = open_file(listener);
    if (file < 0)
        return file;
    if (fchownat(file, "", (uid_t)-1, group, AT_EMPTY_PATH) < 0)
        result = -errno;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file); // fchmod doesn't accept an O_PATH descriptor
    if (result == 0 && address->mode && chmod(path, address->mode) < 0)
        result = -errno;
    close(file);
    return result;
}

void listener_close(struct listener *listener) {
    if (listener->socket < 0)
        return;
    // The file must go before the close: the kernel can't reuse its inode number while the socket is open.
    if (is_unix(&listener->address) && listener->file_number != 0)
        remove_file(listener);
    if (listener->folder >= 0)
        close(listener->folder);
    close(listener->socket);
    listener->socket = -1;
}

// Waits for the result of a connect that a signal's handler has interrupted: the kernel goes on with the connect.
static int finish_connect(int socket) {
    struct pollfd poller = {.fd = socket, .events = POLLOUT};
    while (poll(&poller, 1, -1) < 0)
        if (errno != EINTR)
            return -errno;
    int error = 0;
    socklen_t bytes = sizeof error;
    if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &bytes) < 0)
        return -errno;
    return -error;
}

static int check_default(const struct address *address) {
    char directory[URI_BYTES_MAX];
    if (!is_default(address))
        return 0;
    directory_of(address, directory);
    return check_directory(directory);
}

int listener_dial(const struct address *address) {
    int result = check_default(address);
    if (result < 0)
        return result;
    int on = 1;
    int connection = socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection < 0)
        return -errno;
    if (!is_unix(address))
        setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(connection, sockaddr_of(address), address->bytes) < 0)
        result = errno == EINTR ? finish_connect(connection) : -errno;
    if (result < 0) {
        close(connection);
        return result;
    }
    return connection;
}

// --- Trying an address

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

// Returns whether a listener's address is in conflict with `address`. `words` is that listener's address as
// /proc/net/tcp has it.
static bool is_in_way(const struct address *address, const uint32_t words[4], bool of_v6) {
    static const uint32_t any[4] = {0};
    bool is_any = memcmp(words, any, of_v6 ? sizeof any : sizeof *any) == 0;
    if (is_v6(address))
        return of_v6 && (is_any || IN6_IS_ADDR_UNSPECIFIED(v6_of(address)) ||
                         memcmp(words, v6_of(address), sizeof any) == 0);
    if (of_v6) // a listener for all IPv6 addresses may take IPv4, too
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

// Returns whether the address is one of this machine's. True also if the machine's addresses can't be read.
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
        *why = address_is_foreign;
        return -EADDRNOTAVAIL;
    }
    bool is_used = !is_picked && !shared &&
                   (is_taken(address, "/proc/net/tcp", false) || is_taken(address, "/proc/net/tcp6", true));
    *why = port_is_used;
    return is_used ? -EADDRINUSE : 0;
}

// --- Unix

static const char *unix_path(const struct address *address) {
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
    *why = folder_is_unusable;
    return access(folder, W_OK | X_OK) < 0 ? -errno : 0;
}

static bool is_default_path(const char *path) {
    char uri[sizeof(struct sockaddr_un) + 16];
    struct address own;
    return address_default_unix(uri, sizeof uri) == 0 && address_parse(&own, uri) == 0 &&
           strcmp(unix_path(&own), path) == 0;
}

static int check_unix(const char *path, bool shared, const char **why) {
    struct stat status;
    int folder = check_folder(path, why);
    if (folder < 0)
        return folder == -ENOENT && is_default_path(path) ? 0 : folder; // the hub makes the folder
    if (lstat(path, &status) < 0)
        return 0;
    *why = "expected a path without a file, or with a socket that nobody uses";
    if (!S_ISSOCK(status.st_mode))
        return -EEXIST;
    *why = "expected a free path: another process uses this socket";
    return !shared && is_listened_on(path) ? -EADDRINUSE : 0;
}

int listener_check(const struct address *address, bool shared, const char **why) {
    bool is_unix = address->storage.ss_family == AF_UNIX;
    return is_unix ? check_unix(unix_path(address), shared, why) : check_tcp(address, shared, why);
}
