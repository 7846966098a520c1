// Listening sockets: made at start, before any shard runs, with plain system calls.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "io/address.h"

struct listener {
    struct address address; // as bound: a port 0 has become the one that was picked
    int socket;
    // For a Unix socket: its file's folder, and which file it is, to know it again at the end, when the hub
    // may open no folder any more.
    int folder;
    dev_t file_device;
    ino_t file_number;
};

// Binds and listens. 0 or -errno with *why set to static text.
//
// TCP: SO_REUSEADDR, TCP_NODELAY, and on a loopback address the congestion control that costs least (accepted
// sockets inherit the last two).
//
// Unix: makes the directory if it is the default one (0700, its owner checked), takes away a socket file that
// nobody listens on, and gives the new one mode 0600. The directory, which must be readable, is locked
// meanwhile, so that one of several processes gets the path.
//
// A `shared` one may listen beside another hub of the same user that was opened likewise. TCP does that by
// SO_REUSEPORT, so that new connections go to either. Unix does it by a file that takes the other's place, so
// that connections go to the new one.
int listener_open(struct listener *listener, const struct address *address, bool shared, const char **why);
// Takes a socket that listens already, and that somebody else has opened: its file is left alone at the end.
void listener_adopt(struct listener *listener, const struct address *address, int socket);
// Gives a Unix socket's file to another user, who becomes the hub's. 0 or -errno.
int listener_give(const struct listener *listener, uid_t user);
// Gives a Unix socket's file the mode and the group of its address. The group is looked up, by its name or
// number. The file belongs to the group before the group may use it. 0 or -errno; -ENOENT: there is no such
// group.
int listener_share(const struct listener *listener);
// Closes it; a Unix socket's file goes if it is still the one that was made.
void listener_close(struct listener *listener);

// Connects a blocking socket, for the clients. The descriptor or -errno; -EPERM if the address is the default
// Unix socket's and its directory is somebody else's.
int listener_dial(const struct address *address);

// --- Trying an address

// Whether a listener could be opened, found out without opening one: nothing is bound, made or connected to.

// 0, or -errno with *why set to static text, by what the kernel tells of sockets and files as they are now. A `shared` address may be in
// use. What only the opening itself can show (a lock, a race with another program) isn't found.
// Whether its socket's file can have the group that the address names, or it names none.
bool listener_has_group(const struct address *address);
int listener_check(const struct address *address, bool shared, const char **why);
