#include "router/config_check.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/listener.h"
#include "io/passed_sockets.h"
#include "io/plain_file.h"
#include "router/config_fault.h"

// --- Addresses

// False: it is in use.
static bool check_listener(struct config *config, const struct address *address, bool is_http) {
    char uri[160];
    const char *why = "";
    if (passed_sockets_find(address))
        return true;
    int failed = listener_check(address, config->settings.share_addresses, &why);
    address_format(address, uri, sizeof uri);
    if (failed)
        config_complain_of(config, is_http ? "http" : "listen", "%s: %s: %s", uri, why, strerror(-failed));
    if (failed == -EADDRINUSE) // it may be free when the hub is started
        config->faults--;
    return failed != -EADDRINUSE;
}

static bool check_listeners(struct config *config) {
    bool all = true;
    assert(config->listener_count <= LISTENERS_MAX);
    for (uint32_t index = 0; index < config->listener_count; index++) {
        bool is_last = index + 1 == config->listener_count;
        all &= check_listener(config, &config->listeners[index], is_last && config->http.transport[0]);
    }
    return all;
}

// --- The journal

// 0 or an errno: a file that is there must take more, or its folder a new one.
static int check_writable(const char *path) {
    char folder[PATH_MAX];
    struct stat status;
    assert(*path);
    if (stat(path, &status) == 0)
        return S_ISDIR(status.st_mode) ? EISDIR : access(path, W_OK) < 0 ? errno : 0;
    const char *end = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", end == path ? 1 : end ? (int)(end - path) : 1, end ? path : ".");
    return errno != ENOENT ? errno : access(folder, W_OK | X_OK) < 0 ? errno : 0;
}

static void check_journal(struct config *config) {
    int error = config->journal[0] ? check_writable(config->journal) : 0;
    if (error)
        config_complain_of(config, "audit", "%s: %s", config->journal, strerror(error));
}

// --- Children

static void complain(struct config *config, const struct child_settings *child, const char *key,
                     const char *what, int error) {
    const struct config_place place = config_place_of_child(config, child->name, key);
    config_fault(&place, "child %s: %s: %s", child->name, what, strerror(error));
    config->faults++;
}

// What a variable of the child's is set to; NULL: it isn't, or comes from a file.
static const char *find_variable(const struct child_settings *child, const char *name) {
    const char *at = child->variables.bytes, *found = NULL;
    size_t bytes = strlen(name);
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

// In the folder that the child starts in.
static bool is_program(const struct child_settings *child, const char *folder, size_t folder_bytes,
                       const char *name) {
    char path[PATH_MAX];
    struct stat status;
    bool is_relative = folder_bytes == 0 || *folder != '/';
    const char *base = is_relative && child->directory ? child->directory : "";
    int count = snprintf(path, sizeof path, "%s%s%.*s%s%s", base, *base ? "/" : "", (int)folder_bytes, folder,
                         folder_bytes ? "/" : "", name);
    return count > 0 && (size_t)count < sizeof path && stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
           access(path, X_OK) == 0;
}

static bool is_found(const struct child_settings *child, const char *name) {
    if (strchr(name, '/'))
        return *name == '/' ? is_program(child, "/", 1, name) : is_program(child, "", 0, name);
    const char *folders = find_variable(child, "PATH");
    for (folders = folders ? folders : "/usr/local/bin:/usr/bin:/bin"; folders;
         folders = strchr(folders, ':')) {
        folders += *folders == ':';
        if (is_program(child, folders, strcspn(folders, ":"), name))
            return true;
    }
    return false;
}

static void check_secrets(struct config *config, const struct child_settings *child) {
    const char *at = child->variables.bytes;
    for (size_t left = child->variable_count; left > 0; left--, at += strlen(at) + 1) {
        const char *path = *at == 'F' ? strchr(at, '=') + 1 : NULL;
        int failed = path ? plain_file_check(path) : 0;
        char key[300];
        if (path)
            snprintf(key, sizeof key, "secret %.*s", (int)(path - at - 2), at + 1);
        if (failed)
            complain(config, child, key, path, -failed);
    }
}

static void check_child(struct config *config, const struct child_settings *child) {
    struct stat status;
    assert(child->command_words > 0);
    if (child->directory && (stat(child->directory, &status) < 0 || access(child->directory, X_OK) < 0))
        complain(config, child, "directory", child->directory, errno);
    else if (child->directory && !S_ISDIR(status.st_mode))
        complain(config, child, "directory", child->directory, ENOTDIR);
    if (!is_found(child, child->command.bytes))
        complain(config, child, "command", child->command.bytes, ENOENT);
    check_secrets(config, child);
}

bool config_check(struct config *config) {
    bool is_free = check_listeners(config);
    check_journal(config);
    for (const struct child_settings *child = config->children.first; child; child = child->next)
        check_child(config, child);
    return is_free;
}
