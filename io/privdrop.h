// The account that a process takes which root has started.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

enum { PRIVDROP_GROUPS_MAX = 64 };

struct privdrop_user {
    uid_t user;
    gid_t group;
    gid_t groups[PRIVDROP_GROUPS_MAX]; // including `group`
    int group_count;
    char home[PATH_MAX];
};

// Looks a user's name up. Must be called at start, because this may need files, sockets and libraries. Returns 0 or
// -errno; -ENOENT: no such user.
int privdrop_find(struct privdrop_user *user, const char *name);
// Sets HOME, USER and LOGNAME to this user, unless the process is this user already.
void privdrop_tell(const struct privdrop_user *user, const char *name);
// Becomes the user for good, with all threads. Returns 0 or -errno; -EPERM if the process is neither this user nor
// root.
int privdrop_become(const struct privdrop_user *user);
