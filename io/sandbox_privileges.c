// Gives up privileges: the process keeps its user's rights only, and its programs can't get more.
#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/privdrop.h"
#include "io/sandbox_layer.h"

typedef struct __user_cap_data_struct capabilities[_LINUX_CAPABILITY_U32S_3];

static int set_capabilities(capabilities set) {
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    return syscall(SYS_capset, &head, set) < 0 ? -errno : 0;
}

static int keep_one_capability(void) {
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    capabilities had, set = {0};
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (syscall(SYS_capget, &head, had) < 0)
        return -errno;
    unsigned one = CAP_TO_INDEX(CAP_IPC_LOCK);
    set[one].permitted = set[one].effective = had[one].permitted & CAP_TO_MASK(CAP_IPC_LOCK);
    return set_capabilities(set);
}

// Removes all capabilities from the bounding set, so that no program can get them again. Only a process with
// capabilities may do so, and only such a process needs to.
static void drop_capability_bounds(void) {
    for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
        prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
}

int sandbox_layer_privileges(const struct privdrop_user *user) {
    drop_capability_bounds();
    // Keeps CAP_IPC_LOCK through the change of user, which drops all permitted capabilities
    prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
    int failed = user ? privdrop_become(user) : 0;
    prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
    if (!failed)
        failed = keep_one_capability();
    if (!failed && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        failed = -ENOSYS;
    return failed;
}

void sandbox_layer_last_privilege(void) {
    capabilities none = {0};
    set_capabilities(none);
}

void sandbox_layer_hide_memory(void) {
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}
