#include "io/privdrop.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int privdrop_find(struct privdrop_user *login, const char *name) {
    errno = 0;
    const struct passwd *entry = getpwnam(name);
    if (!entry)
        return errno && errno != ESRCH && errno != EPERM && errno != EBADF ? -errno : -ENOENT;
    *login = (struct privdrop_user){
        .user = entry->pw_uid, .group = entry->pw_gid, .group_count = PRIVDROP_GROUPS_MAX};
    if ((size_t)snprintf(login->home, sizeof login->home, "%s", entry->pw_dir) >= sizeof login->home)
        return -ENAMETOOLONG;
    return getgrouplist(name, login->group, login->groups, &login->group_count) < 0 ? -E2BIG : 0;
}

static bool is_it(const struct privdrop_user *login) {
    return getuid() == login->user && geteuid() == login->user;
}

void privdrop_tell(const struct privdrop_user *login, const char *name) {
    if (is_it(login))
        return;
    setenv("HOME", login->home, 1);
    setenv("USER", name, 1);
    setenv("LOGNAME", name, 1);
}

// The user at last: with it goes the right to change the others.
int privdrop_become(const struct privdrop_user *login) {
    if (is_it(login) && login->user != 0)
        return 0;
    if (setgroups((size_t)login->group_count, login->groups) < 0 ||
        setresgid(login->group, login->group, login->group) < 0 ||
        setresuid(login->user, login->user, login->user) < 0)
        return -errno;
    if (login->user != 0 && setuid(0) == 0)
        return -EPERM;
    return 0;
}
