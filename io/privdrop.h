// The account that a process becomes which root has started.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

enum { PRIVDROP_GROUPS_MAX = 64 };

struct privdrop_user {
    uid_t user;
    gid_t group;
    gid_t groups[PRIVDROP_GROUPS_MAX]; // with the first one
    int group_count;
    char home[PATH_MAX];
};

// Looks a user's name up, at start: it may take files, sockets and libraries. 0 or -errno; -ENOENT: there is none.
int privdrop_find(struct privdrop_user *user, const char *name);
// Has the environment speak of this user, where it is another one than who the process is: HOME, USER, LOGNAME.
void privdrop_tell(const struct privdrop_user *user, const char *name);
// Becomes it, for good, with all threads. 0 or -errno; -EPERM where the process is another one, and not root.
int privdrop_become(const struct privdrop_user *user);
