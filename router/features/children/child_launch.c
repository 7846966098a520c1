// How a child is started: what the keeper is told.
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "io/keeper.h"
#include "router/features/children/child.h"

// Whether a variable of the hub's own names a directory: what isn't absolute means nothing to another process.
static const char *own_directory(const char *name) {
    const char *value = getenv(name);
    return value && *value == '/' ? value : NULL;
}

// Puts the path before the child's own; false when nothing says where that is.
static bool put_default(struct text *path, const struct child_settings *settings) {
    const char *data = own_directory("XDG_DATA_HOME"), *home = own_directory("HOME");
    if (!data && !home)
        return false;
    text_put(path, data ? data : home);
    text_put(path, data ? "/patchbay/" : "/.local/share/patchbay/");
    text_put(path, settings->name);
    return true;
}

// A relative one is meant as the hub's own paths are; the child may run elsewhere.
static bool put_given(struct text *path, const char *data) {
    char *here = *data == '/' ? NULL : getcwd(NULL, 0);
    if (*data != '/' && !here)
        return false;
    text_put(path, here ? here : "");
    text_put(path, here ? "/" : "");
    text_put(path, data);
    free(here);
    return true;
}

int child_data_directory(const struct child_settings *settings, char **out) {
    struct text path;
    *out = NULL;
    if (settings->protocol != CHILD_HERMES)
        return 0;
    text_init(&path);
    bool known = settings->data ? put_given(&path, settings->data) : put_default(&path, settings);
    text_add(&path, "", 1);
    if (known && !path.failed) {
        *out = path.bytes;
        return 0;
    }
    text_deinit(&path);
    return known ? -ENOMEM : -ENOENT;
}

static void put_string(struct text *out, const char *string) {
    text_add(out, string ? string : "", string ? strlen(string) + 1 : 1);
}

// A variable of the hub's own, which is no secret.
static void put_variable(struct text *out, const char *name, const char *value) {
    text_put(out, "O");
    text_put(out, name);
    text_put(out, "=");
    put_string(out, value);
}

static void put_start(struct text *out, const struct child *child, const char *data) {
    const struct child_settings *settings = child->settings;
    bool hermes = settings->protocol == CHILD_HERMES;
    struct keeper_command command = {
        .kind = KEEPER_START,
        .place = child->record->place,
        .serial = child->serial,
        .value = (uint32_t)settings->end_ms,
        .words = (uint32_t)settings->command_words,
        .variables = (uint32_t)settings->variable_count + (hermes ? 3 : 0),
    };
    assert(settings->command_words > 0 && (data || !hermes));
    text_add(out, &command, sizeof command);
    put_string(out, settings->name);
    put_string(out, settings->directory);
    put_string(out, data);
    text_add(out, settings->command.bytes, settings->command.length);
    text_add(out, settings->variables.bytes, settings->variables.length);
    if (!hermes)
        return;
    put_variable(out, "HERMES_VERSION", PATCHBAY_VERSION);
    put_variable(out, "HERMES_API_VERSION", "1.0.0");
    put_variable(out, "HERMES_DATA_DIR", data);
}

int child_launch(struct shard *shard, struct child *child, int *in, int *out) {
    struct text command;
    char *data;
    int failed = child_data_directory(child->settings, &data);
    if (failed == -ENOENT)
        child_log(child, "nothing says where its data are to be: set HOME, XDG_DATA_HOME or its data");
    if (failed)
        return failed;
    text_init(&command);
    put_start(&command, child, data);
    memory_give(data);
    int result = command.failed || command.length > KEEPER_COMMAND_BYTES
                     ? -ENOMEM
                     : io_start(shard->io, shard->hub->settings.keeper->commands, command.bytes,
                                command.length, in, out);
    text_deinit(&command);
    return result;
}

bool child_command(struct shard *shard, struct child *child, uint32_t kind, uint32_t value) {
    assert(kind != KEEPER_START);
    struct keeper_command command = {
        .kind = kind, .place = child->record->place, .serial = child->serial, .value = value};
    return !child->has_process ||
           io_tell_keeper(shard->io, shard->hub->settings.keeper->commands, &command, sizeof command) == 0;
}
