// The sandbox: rights that the process gives up for good, layer by layer, before it talks to any peer. Each layer has a
// file of its own, doesn't depend on the others, and needs support by the kernel. The caller decides which layers are
// required.
//
//     privileges   capabilities, root's rights, and rights that an executed program could regain
//     files        all files outside the named folders (Landlock); new TCP sockets
//     calls        system calls that a serving hub doesn't make (seccomp)
//     ring         io_uring operations that the hub doesn't use (io.h: io_options.restricted)
//
// The order matters. Sockets are bound first. Then privileges and files are given up on the thread that starts the
// other threads. Then the rings are made, and last come the calls.
#pragma once

#include <stdbool.h>

enum sandbox_layer {
    SANDBOX_LAYER_PRIVILEGES,
    SANDBOX_LAYER_FILES,
    SANDBOX_LAYER_CALLS,
    SANDBOX_LAYER_RING,
    SANDBOX_LAYER_COUNT
};

enum sandbox_layer_state {
    SANDBOX_LAYER_OFF,     // not asked for
    SANDBOX_LAYER_UP,      // in force
    SANDBOX_LAYER_MISSING, // the kernel, or the hub's container, doesn't allow this layer
    SANDBOX_LAYER_UNUSED,  // there is no ring to restrict
};

struct privdrop_user;

// Becomes `user`, unless NULL. Gives up all capabilities but CAP_IPC_LOCK, and the means to regain any. Making rings
// needs CAP_IPC_LOCK: otherwise RLIMIT_MEMLOCK, which all processes of a user share, bounds the memory of rings.
// Returns 0 or -errno; -ENOSYS: done, but the kernel can't prevent regaining.
int sandbox_layer_privileges(const struct privdrop_user *user);
// Gives up CAP_IPC_LOCK: for the calling thread and the threads that it starts later.
void sandbox_layer_last_privilege(void);

// Permitted operations in a folder and its subfolders.
enum folder_use {
    FOLDER_READ = 1,
    FOLDER_WRITE = 2,  // make, write and read files
    FOLDER_REMOVE = 4, // remove files
};

struct folder {
    const char *path;
    unsigned use;
};

// Restricts the calling thread, and the threads that it starts, to files in these folders. A missing folder is left
// out. Open files stay usable. Unless the hub `dials`, TCP connections are forbidden, too. Returns 0, or -errno with
// *why set to static text.
int sandbox_layer_files(const struct folder *folders, unsigned count, bool dials, const char **why);
// Returns the kernel's Landlock ABI version; 0: none.
int sandbox_layer_files_version(void);

// Restricts the system calls of all threads to those that a serving hub makes. Other calls fail with EPERM. Calls that
// no library tries end the process (SIGSYS). If the hub `dials`, TCP sockets and connect are allowed. Returns 0 or
// -errno.
int sandbox_layer_calls(bool dials);

// Returns whether a ring that is made now refuses operations that the hub doesn't use. Tries one.
bool sandbox_ring_holds(void);

// Prevents core dumps, and reads of the process's memory by any user but root.
void sandbox_layer_hide_memory(void);
