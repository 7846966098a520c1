#include "router/main/config_check.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log/log_secret.h"
#include "io/listener.h"
#include "io/passed_sockets.h"
#include "io/plain_file.h"
#include "io/privdrop.h"
#include "router/features/children/child.h"
#include "router/main/config.h"
#include "router/main/config_fault.h"
#include "router/main/config_options.h"

// --- Addresses

// Names what keeps the hub from listening on an address. Returns false if the address is in use.
static bool check_listener(struct config *config, const struct address *address, const char *option) {
    char uri[160];
    const char *why = "";
    if (passed_sockets_find(address))
        return true;
    int failed = listener_check(address, config->settings.share_addresses, &why);
    address_format(address, uri, sizeof uri);
    if (failed)
        config_complain_of(config, option, "%s: %s: %s", uri, why, strerror(-failed));
    if (!listener_has_group(address))
        config_complain_of(config, option, "%s: expected a group of this machine behind group=", uri);
    if (failed == -EADDRINUSE) // the address may be free when the hub is started
        config->faults--;
    return failed != -EADDRINUSE;
}

static bool check_listeners(struct config *config) {
    bool all = true;
    assert(config->listener_count <= LISTENERS_MAX);
    for (uint32_t index = 0; index < config->listener_count; index++)
        all &= check_listener(config, &config->listeners[index],
                              option_of_address(&config->listeners[index])->name);
    return all;
}

// --- The journal

enum { EXECUTES = 1, WRITES = 2, READS = 4 };

// Returns 0 if a user may access a path, or an errno. The kernel decides, with access control lists and the folders
// above: a child process becomes the user and tries the access.
static int try_as(const struct privdrop_user *user, const char *path, int mode) {
    int status = 0;
    pid_t process = fork();
    if (process == 0) {
        int failed = -privdrop_become(user);
        _exit(failed ? failed : access(path, mode) < 0 ? errno : 0);
    }
    if (process < 0)
        return errno;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EACCES;
}

// Returns 0 if a path may be used so by `user`, the user that the hub becomes, or an errno. With NULL, checks the user
// of this process.
static int check_use(const char *path, const struct privdrop_user *user, unsigned bits) {
    int mode = (bits & READS ? R_OK : 0) | (bits & WRITES ? W_OK : 0) | (bits & EXECUTES ? X_OK : 0);
    assert(mode);
    if (access(path, F_OK) < 0) // a missing file is reported before missing permissions
        return errno;
    if (user && user->user != geteuid())
        return try_as(user, path, mode);
    return access(path, mode) < 0 ? errno : 0;
}

// Returns 0 if a file can be read and written, or can be made in its folder when it is missing; else an errno.
static int check_writable(const char *path, const struct privdrop_user *user) {
    char folder[PATH_MAX];
    struct stat status;
    assert(*path);
    if (stat(path, &status) == 0)
        return S_ISDIR(status.st_mode)    ? EISDIR
               : !S_ISREG(status.st_mode) ? EOPNOTSUPP
                                          : check_use(path, user, READS | WRITES);
    const char *end = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", end == path ? 1 : end ? (int)(end - path) : 1, end ? path : ".");
    return errno != ENOENT ? errno : check_use(folder, user, WRITES | EXECUTES);
}

// Returns the user that the hub becomes, in `room`. Returns NULL if the hub keeps its user. A hub that can't become the
// user is a fault, and NULL, too.
static const struct privdrop_user *find_user(struct config *config, struct privdrop_user *room) {
    int failed = config->user[0] ? privdrop_find(room, config->user) : 0;
    if (config->user[0] && !failed && geteuid() != 0 && geteuid() != room->user)
        failed = -EPERM;
    if (failed)
        config_complain_of(config, "user", "%s: %s", config->user,
                           failed == -ENOENT ? "expected a user of this machine: there is no such user"
                           : failed == -EPERM
                               ? "expected root, which alone can become another user, to start the hub"
                               : strerror(-failed));
    return config->user[0] && !failed ? room : NULL;
}

static void check_journal(struct config *config, const struct privdrop_user *user) {
    int error = config->journal[0] ? check_writable(config->journal, user) : 0;
    if (error)
        config_complain_of(
            config, "audit", "%s: expected a regular file that can be written%s%s, or be made: %s",
            config->journal, user ? " by the user " : "", user ? config->user : "", plain_file_why(error));
}

// --- Children

static void complain(struct config *config, const struct child_settings *child, const char *key,
                     const char *what, const char *expected, int error) {
    const struct config_place place = config_place_of_child(config, child->name, key);
    void (*say)(const struct config_place *place, const char *format, ...) =
        config->check ? config_fault : config_warn;
    say(&place, "child %s: %s: expected %s: %s", child->name, what, expected, plain_file_why(error));
    config->faults += config->check;
}

// Returns the value of a variable of the child's; NULL: the variable isn't set, or comes from a file.
static const char *find_variable(const struct child_settings *child, const char *name) {
    const char *at = child->variables.bytes, *found = NULL;
    size_t bytes = strlen(name);
    assert(bytes > 0);
    for (size_t left = child->variable_count; left > 0; left--, at += strlen(at) + 1) {
        if (strncmp(at + 1, name, bytes) != 0)
            continue;
        if (*at == 'S' && at[1 + bytes] == '=')
            return at + bytes + 2;
        if (*at == 'P' && !at[1 + bytes])
            found = getenv(name);
    }
    return found;
}

// Tries one folder of the search path, which may be relative to the child's own directory. Returns 0 if the program can
// be run, or an errno.
static int try_program(const struct child_settings *child, const char *folder, size_t folder_bytes,
                       const char *name, const struct privdrop_user *user) {
    char path[PATH_MAX];
    struct stat status;
    bool is_relative = folder_bytes == 0 || *folder != '/';
    const char *base = is_relative && child->directory ? child->directory : "";
    int count = snprintf(path, sizeof path, "%s%s%.*s%s%s", base, *base ? "/" : "", (int)folder_bytes, folder,
                         folder_bytes ? "/" : "", name);
    if (count < 0 || (size_t)count >= sizeof path)
        return ENAMETOOLONG;
    if (stat(path, &status) < 0)
        return errno;
    return !S_ISREG(status.st_mode) ? EACCES : check_use(path, user, EXECUTES);
}

// Searches the child's PATH for its program. Returns 0, or an errno: a file that can't be run is reported before a
// missing file.
static int find_program(const struct child_settings *child, const char *name,
                        const struct privdrop_user *user) {
    if (strchr(name, '/'))
        return try_program(child, *name == '/' ? "/" : "", *name == '/', name, user);
    const char *folders = find_variable(child, "PATH");
    int error = ENOENT;
    for (folders = folders ? folders : "/usr/local/bin:/usr/bin:/bin"; folders;
         folders = strchr(folders, ':')) {
        folders += *folders == ':';
        int failed = try_program(child, folders, strcspn(folders, ":"), name, user);
        if (failed == 0)
            return 0;
        error = failed == EACCES ? EACCES : error;
    }
    return error;
}

static void check_secrets(struct config *config, const struct child_settings *child,
                          const struct privdrop_user *user) {
    const char *at = child->variables.bytes;
    for (size_t left = child->variable_count; left > 0; left--, at += strlen(at) + 1) {
        const char *path = *at == 'F' ? strchr(at, '=') + 1 : NULL;
        int error = path ? -plain_file_check(path) : 0;
        if (path && !error)
            error = check_use(path, user, READS);
        char key[300];
        if (path)
            snprintf(key, sizeof key, "secret %.*s", (int)(path - at - 2), at + 1);
        if (error)
            complain(config, child, key, path, "a regular file that can be read", error);
    }
}

// Returns 0 if files can be made in a folder, or an errno. If the folder is missing, the last existing folder above
// must take folders: the keeper makes the missing folders.
static int check_folder(const char *path, const struct privdrop_user *user) {
    char folder[PATH_MAX];
    struct stat status;
    assert(*path == '/');
    if (strlen(path) >= sizeof folder)
        return ENAMETOOLONG;
    strcpy(folder, path);
    while (stat(folder, &status) < 0) {
        char *end = strrchr(folder, '/');
        if (errno != ENOENT || end == folder ||
            lstat(folder, &status) == 0) // nobody can make a folder in place of a link to nothing
            return errno;
        *end = '\0';
    }
    return S_ISDIR(status.st_mode) ? check_use(folder, user, WRITES | EXECUTES) : ENOTDIR;
}

static void check_data(struct config *config, const struct child_settings *child,
                       const struct privdrop_user *user) {
    char *data;
    int failed = child_data_directory(child, &data);
    int error = failed ? -failed : data ? check_folder(data, user) : 0;
    assert(!data || child->protocol == CHILD_HERMES);
    if (error)
        complain(config, child, "data", data ? data : "no folder",
                 data ? "a folder that can be written, or be made"
                      : "the key data, or XDG_DATA_HOME or HOME in the hub's environment",
                 error);
    memory_give(data);
}

// A program that can't be run may be a whole command in quotes, with its secrets.
static void complain_of_program(struct config *config, const struct child_settings *child, int error) {
    struct text shown = {0};
    log_hide_program(child->name, child->command.bytes, &shown);
    text_add(&shown, "", 1);
    complain(config, child, "command", shown.failed ? "its program" : shown.bytes,
             "a program that can be run", error);
    text_deinit(&shown);
}

static void check_child(struct config *config, const struct child_settings *child,
                        const struct privdrop_user *user) {
    const char *directory = child->directory, *program = child->command.bytes;
    struct stat status;
    assert(child->command_words > 0);
    int error = directory ? check_use(directory, user, EXECUTES) : 0;
    if (directory && !error && (stat(directory, &status) < 0 || !S_ISDIR(status.st_mode)))
        error = ENOTDIR;
    if (error)
        complain(config, child, "directory", directory, "a folder that can be entered", error);
    error = find_program(child, program, user);
    if (error)
        complain_of_program(config, child, error);
    check_data(config, child, user);
    check_secrets(config, child, user);
}

static void check_children(struct config *config, const struct privdrop_user *user) {
    for (const struct child_settings *child = config->settings.children; child; child = child->next)
        check_child(config, child, user);
}

// At SIGHUP the hub has become its user already, and the sandbox hides the list of users.
void config_check_children(struct config *config) {
    check_children(config, NULL);
}

bool config_check(struct config *config) {
    struct privdrop_user room;
    const struct privdrop_user *user = find_user(config, &room);
    bool is_free = check_listeners(config);
    check_journal(config, user);
    check_children(config, user);
    return is_free;
}

bool config_check_start(struct config *config) {
    struct privdrop_user room;
    uint32_t before = config->faults;
    const struct privdrop_user *user = find_user(config, &room);
    check_journal(config, user);
    check_children(config, user);
    return config->faults == before;
}
