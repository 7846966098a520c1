// Listening sockets: made at start, before any shard runs, with plain system calls.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "io/address.h"

struct listener {
    struct address address; // as bound; port 0 is replaced by the kernel's choice
    int socket;
    // For a Unix socket: the open folder of its file, and the file's identity. With both, the file can be removed at
    // the end, when the hub may not open folders any more.
    int folder;
    dev_t file_device;
    ino_t file_number;
};

// Binds and listens. Returns 0, or -errno with *why set to static text.
//
// TCP: sets SO_REUSEADDR and TCP_NODELAY, and on a loopback address the cheapest congestion control (accepted sockets
// inherit the last two).
//
// Unix: makes the default directory (0700, after a check of its owner). Removes a socket file on which no process
// listens, and gives the new file mode 0600. The directory must be readable, and is locked meanwhile, so that only one
// of several processes gets the path.
//
// A `shared` listener may listen beside another hub of the same user that was also opened `shared`. TCP: by
// SO_REUSEPORT, so that new connections go to either hub. Unix: a new file replaces the other hub's file, so that new
// connections go to the new hub.
int listener_open(struct listener *listener, const struct address *address, bool shared, const char **why);
// Takes a listening socket that another process has opened. listener_close leaves its file alone.
void listener_adopt(struct listener *listener, const struct address *address, int socket);
// Gives a Unix socket's file to the user that the hub becomes. Returns 0 or -errno.
int listener_give(const struct listener *listener, uid_t user);
// Gives a Unix socket's file the mode and the group of its address. Looks the group up by name or number. Sets the
// group before the mode gives the group rights. Returns 0 or -errno; -ENOENT: there is no such group.
int listener_share(const struct listener *listener);
// Closes the listener. Removes a Unix socket's file, if it is still the file that this listener has made.
void listener_close(struct listener *listener);

// Connects a blocking socket, for clients. Returns the descriptor or -errno; -EPERM if the address is the default Unix
// socket's and its directory belongs to another user.
int listener_dial(const struct address *address);

// --- Trying an address

// Returns whether the address names no group, or the socket's file can have this group.
bool listener_has_group(const struct address *address);
// Checks whether a listener could be opened, without binding, making or connecting to anything. Reads what the kernel
// tells about sockets and files as they are now. Returns 0, or -errno with *why set to static text. A `shared` address
// may be in use. Doesn't find faults that only opening shows: a lock, a race with another program.
int listener_check(const struct address *address, bool shared, const char **why);
