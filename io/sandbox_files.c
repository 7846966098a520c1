// Restricts files by Landlock: removes all rights that the kernel knows, and gives rights back folder by folder.
//
// Success: each folder is opened once and named by its descriptor. Failure: without Landlock, or if a container refuses
// it, nothing is restricted. A folder that can't be opened gets no rights, so the restriction stays complete.
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/sandbox_layer.h"

// Rights that are newer than some headers.
enum {
    REFER = 1 << 13,
    TRUNCATE = 1 << 14,
    IOCTL_DEVICE = 1 << 15,
    BIND_TCP = 1 << 0,
    CONNECT_TCP = 1 << 1,
    SCOPE_ABSTRACT_SOCKETS = 1 << 0,
};

// The fields of struct landlock_ruleset_attr. An older kernel takes only the first ones.
struct rules {
    uint64_t files, tcp, scoped;
};

static const uint64_t READ = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
static const uint64_t WRITE = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR |
                              LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | TRUNCATE;

int sandbox_layer_files_version(void) {
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return version > 0 ? (int)version : 0;
}

static struct rules rules_of(int version, bool dials) {
    struct rules rules = {.files = REFER - 1};
    if (version >= 2)
        rules.files |= REFER;
    if (version >= 3)
        rules.files |= TRUNCATE;
    if (version >= 5)
        rules.files |= IOCTL_DEVICE;
    if (version >= 4)
        rules.tcp = dials ? BIND_TCP : BIND_TCP | CONNECT_TCP;
    if (version >= 6)
        rules.scoped = SCOPE_ABSTRACT_SOCKETS;
    return rules;
}

static size_t rules_bytes(int version) {
    return version >= 6   ? sizeof(struct rules)
           : version >= 4 ? offsetof(struct rules, scoped)
                          : offsetof(struct rules, tcp);
}

static int allow(int ruleset, const struct folder *folder, uint64_t known) {
    uint64_t rights = folder->use & FOLDER_READ ? READ : 0;
    if (folder->use & FOLDER_WRITE)
        rights |= WRITE;
    if (folder->use & FOLDER_REMOVE)
        rights |= LANDLOCK_ACCESS_FS_REMOVE_FILE;
    struct landlock_path_beneath_attr rule = {
        .allowed_access = rights & known, .parent_fd = open(folder->path, O_PATH | O_DIRECTORY | O_CLOEXEC)};
    if (rule.parent_fd < 0)
        return 0;
    long result = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    int failed = result < 0 ? -errno : 0;
    close(rule.parent_fd);
    return failed;
}

int sandbox_layer_files(const struct folder *folders, unsigned count, bool dials, const char **why) {
    int version = sandbox_layer_files_version();
    struct rules rules = rules_of(version, dials);
    *why = "the kernel has no Landlock, or it is refused";
    int ruleset = version ? (int)syscall(SYS_landlock_create_ruleset, &rules, rules_bytes(version), 0) : -1;
    if (ruleset < 0)
        return version ? -errno : -ENOSYS;
    int failed = 0;
    *why = "Landlock was refused";
    for (unsigned at = 0; at < count && !failed; at++)
        failed = allow(ruleset, &folders[at], rules.files);
    if (!failed && syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
        failed = -errno;
    close(ruleset);
    return failed;
}
