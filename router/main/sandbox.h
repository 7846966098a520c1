// The layers of the sandbox (io/sandbox_layer.h), applied as the configuration says.
#pragma once

#include "io/privdrop.h"
#include "io/sandbox_layer.h"
#include "router/main/config.h"

enum { SANDBOX_FOLDERS_MAX = 64, SANDBOX_READS_MAX = 32 };

struct sandbox {
    enum sandbox_mode mode;
    const char *user_name; // who the hub becomes, or NULL
    struct privdrop_user user;
    bool secret; // it keeps what no core dump may show
    // Files that SIGHUP reads again, by the names that the operator gave.
    const char *reads[SANDBOX_READS_MAX];
    unsigned read_count;
    struct folder folders[SANDBOX_FOLDERS_MAX];
    char paths[SANDBOX_FOLDERS_MAX][PATH_MAX];
    unsigned folder_count;
};

// Finds out what is to be done, before anything of it is. `config` outlives it. False when that can't be; it has been said.
bool sandbox_plan(struct sandbox *sandbox, const struct config *config);
// Privileges and files: on the thread from which all others come, when listeners are bound. Sets these layers in `state`. False when the
// hub must not start; it has been said.
bool sandbox_apply(const struct sandbox *sandbox, struct hub_sandbox *state);
// System calls, for all threads, when the rings are made; `ring` is how these are. Otherwise likewise.
bool sandbox_apply_calls(struct hub_sandbox *state, enum sandbox_layer_state ring);
// The user of --user, or NULL.
const struct privdrop_user *sandbox_user(const struct sandbox *sandbox);

// --- patchbayd --check

// Applies each layer in a process of its own, tries there what the layer forbids, and says on standard output which of them hold. The
// status to end with: 0, or 1 when the hub would not start.
int sandbox_check(const struct sandbox *sandbox, const struct config *config);
