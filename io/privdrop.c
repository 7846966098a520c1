#include "io/privdrop.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int privdrop_find(struct privdrop_user *user, const char *name) {
    errno = 0;
    const struct passwd *entry = getpwnam(name);
    if (!entry)
        return errno && errno != ESRCH && errno != EPERM && errno != EBADF ? -errno : -ENOENT;
    *user = (struct privdrop_user){
        .user = entry->pw_uid, .group = entry->pw_gid, .group_count = PRIVDROP_GROUPS_MAX};
    if ((size_t)snprintf(user->home, sizeof user->home, "%s", entry->pw_dir) >= sizeof user->home)
        return -ENAMETOOLONG;
    return getgrouplist(name, user->group, user->groups, &user->group_count) < 0 ? -E2BIG : 0;
}

static bool is_it(const struct privdrop_user *user) {
    return getuid() == user->user && geteuid() == user->user;
}

void privdrop_tell(const struct privdrop_user *user, const char *name) {
    if (is_it(user))
        return;
    setenv("HOME", user->home, 1);
    setenv("USER", name, 1);
    setenv("LOGNAME", name, 1);
}

// Becomes the user. The user number is changed last: without root the process can't change the groups.
int privdrop_become(const struct privdrop_user *user) {
    if (is_it(user) && user->user != 0)
        return 0;
    if (setgroups((size_t)user->group_count, user->groups) < 0 ||
        setresgid(user->group, user->group, user->group) < 0 ||
        setresuid(user->user, user->user, user->user) < 0)
        return -errno;
    if (user->user != 0 && setuid(0) == 0)
        return -EPERM;
    return 0;
}
