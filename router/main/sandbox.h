// Applies the layers of the sandbox (io/sandbox_layer.h) as the configuration says.
#pragma once

#include "io/privdrop.h"
#include "io/sandbox_layer.h"
#include "router/main/config.h"

enum { SANDBOX_FOLDERS_MAX = 64, SANDBOX_READS_MAX = 32 };

struct sandbox {
    enum sandbox_mode mode;
    const char *user_name; // the user that the hub becomes, or NULL
    struct privdrop_user user;
    bool secret; // the hub holds secrets that no core dump may show
    // Files that SIGHUP reads again, by the names that the operator gave.
    const char *reads[SANDBOX_READS_MAX];
    unsigned read_count;
    struct folder folders[SANDBOX_FOLDERS_MAX];
    char paths[SANDBOX_FOLDERS_MAX][PATH_MAX];
    unsigned folder_count;
};

// Collects the sandbox's folders, files and user, and applies nothing yet. `config` must outlive `sandbox`. Returns
// false if this fails; the error has been logged then.
bool sandbox_plan(struct sandbox *sandbox, const struct config *config);
// Applies the layers for privileges and files, and sets them in `state`. Must be called when listeners are bound, on
// the thread that starts all others. Returns false if the hub must not start; the error has been logged then.
bool sandbox_apply(const struct sandbox *sandbox, struct hub_sandbox *state);
// Applies the layer for system calls, for all threads, when the rings are made; `ring` is the state of the rings'
// layer. Returns false as sandbox_apply does.
bool sandbox_apply_calls(struct hub_sandbox *state, enum sandbox_layer_state ring);
// Returns the user of --user, or NULL.
const struct privdrop_user *sandbox_user(const struct sandbox *sandbox);

// --- patchbayd --check

// Applies each layer in a process of its own, tries there what the layer forbids, and prints which layers work. Returns
// the exit status: 0, or 1 if the hub would not start.
int sandbox_check(const struct sandbox *sandbox, const struct config *config);
