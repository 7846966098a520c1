#include "router/main/config_users.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/rights/digest.h"
#include "core/rights/users.h"
#include "io/log.h"
#include "io/plain_file.h"
#include "router/main/config_fault.h"

static void complain_of_line(void *context, const struct users_fault *fault) {
    const struct config_place place = {context, fault->line, fault->key};
    config_fault(&place, "expected %s", fault->expected);
}

// Reads a whole file into `text`. Returns 0, or an errno: EFBIG for a file over USERS_FILE_BYTES_MAX.
static int read_all(int file, char *text, size_t *bytes) {
    int failed = plain_file_read(file, text, USERS_FILE_BYTES_MAX + 1, bytes);
    return failed ? -failed : *bytes > USERS_FILE_BYTES_MAX ? EFBIG : 0;
}

// Returns the text of the users file, or NULL if the file can't be read; the fault has been named then.
static char *read_text(const struct config *config, size_t *bytes) {
    const char *path = config->users;
    assert(path[0]);
    int file = plain_file_open(path);
    char *text = file < 0 ? NULL : malloc(USERS_FILE_BYTES_MAX + 1);
    *bytes = 0;
    int error = file < 0 ? -file : text ? read_all(file, text, bytes) : ENOMEM;
    if (file >= 0)
        close(file);
    if (text && !error)
        return text;
    const struct config_place place = config_place_of(config, "users");
    config_fault(&place, "%s: expected a regular file of up to 16M that can be read: %s", path,
                 error == EFBIG ? "it is larger" : plain_file_why(error));
    if (text)
        digest_wipe(text, *bytes);
    free(text);
    return NULL;
}

// Names each user of a child's section that isn't in the users file. Returns whether all users are there.
static bool are_known(const struct config *config, const struct users *users) {
    bool known = true;
    for (const struct child_settings *child = config->settings.children; child; child = child->next) {
        if (!child->user || users_by_name(users, child->user, strlen(child->user)))
            continue;
        const struct config_place place = config_place_of_child(config, child->name, "user");
        config_fault(&place, "child %s: expected a user of %s, not '%s'", child->name, config->users,
                     child->user);
        known = false;
    }
    return known;
}

static bool can_hold(const struct config *config, const struct users *users, bool has_gate) {
    uint32_t line = users_hold_line(users);
    if (!line || has_gate)
        return true;
    const struct config_place place = {config->users, line, "hold"};
    config_fault(&place, "expected --gate beside it%s",
                 config->settings.approval_level ? ", which takes effect at the next start" : "");
    return false;
}

// Warns if --gate holds messages and no user may approve them. The hub runs all the same, since the operator may add
// such a user while messages are held.
static void warn_of_gate(const struct config *config, const struct users *users, bool has_gate) {
    uint32_t index = 0, count = users_count(users);
    while (index < count && !users_rights_at(users, index)->admin)
        index++;
    if (has_gate && index == count)
        log_write(LOG_CONFIG_WARNING, LOG_FIELDS(log_text(config->users), log_unknown(), log_text("admin")),
                  "%s: expected a user with admin = yes: nobody can approve what --gate holds",
                  config->users);
}

struct users *config_users(const struct config *config, const struct siphash_key *key,
                           const struct users *before, enum governance gate, struct realm *realm) {
    bool has_gate = gate != GOVERNANCE_AUTONOMOUS;
    char path[PATH_MAX];
    size_t bytes;
    assert(config->users[0]);
    memcpy(path, config->users, sizeof path);
    char *text = read_text(config, &bytes);
    bool is_same = text && before && users_are_of(before, text, bytes);
    struct users *users = is_same ? users_hold((struct users *)(uintptr_t)before)
                          : text  ? users_read(text, bytes, key, before, complain_of_line, path)
                                  : NULL;
    if (users && !realm_make(realm, text, bytes, gate)) {
        users_drop(users);
        users = NULL;
    }
    if (text)
        digest_wipe(text, bytes);
    free(text);
    bool is_good = users && are_known(config, users);
    is_good = users && can_hold(config, users, has_gate) && is_good; // both checks name their faults
    if (is_good) {
        warn_of_gate(config, users, has_gate);
        return users;
    }
    users_drop(users);
    return NULL;
}
