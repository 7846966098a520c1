// The sandbox: rights that the process gives up for good, layer by layer, before it speaks with any peer.
// Each layer is in a file of its own, knows nothing of the others, and needs a kernel that has it. The caller
// decides which of them must hold.
//
//   privileges   capabilities, the user's rights of root, and all that a program with more of them could give
//   files        all but the named folders (Landlock); TCP beyond the sockets that are there
//   calls        all system calls but those that a hub that serves makes (seccomp)
//   ring         all of io_uring but the operations that the hub uses (io.h: io_options.walled)
//
// The order counts: sockets are bound before, then privileges and files on a thread that the others come
// from, then the rings are made, then calls.
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
    SANDBOX_LAYER_OFF,     // nobody asked for it
    SANDBOX_LAYER_UP,      // in force
    SANDBOX_LAYER_MISSING, // the kernel, or whoever started the hub, doesn't let it be
    SANDBOX_LAYER_UNUSED,  // there is nothing to restrict: no ring
};

struct privdrop_user;

// Becomes `user`, unless that is NULL, and gives up all capabilities but CAP_IPC_LOCK, and the way back to any. Making rings
// needs CAP_IPC_LOCK: without it RLIMIT_MEMLOCK, which all processes of a user share, bounds the memory of rings. 0 or
// -errno; -ENOSYS: all is done, but the kernel can't close the way back.
int sandbox_layer_privileges(const struct privdrop_user *user);
// Gives CAP_IPC_LOCK up, too: for the calling thread, and for those that the thread starts.
void sandbox_layer_last_privilege(void);

// Permitted operations in a folder, and in those below it.
enum folder_use {
    FOLDER_READ = 1,
    FOLDER_WRITE = 2,  // files made, written, and read, too
    FOLDER_REMOVE = 4, // files taken away
};

struct folder {
    const char *path;
    unsigned use;
};

// From now on the calling thread, and those that it starts, reach no files by name but those of the folders.
// A folder that isn't there is left out. Open files stay. Unless the hub `dials`, it connects over TCP to
// nobody, either. 0 or -errno with *why set to static text.
int sandbox_layer_files(const struct folder *folders, unsigned count, bool dials, const char **why);
// Which Landlock the kernel has: its ABI's number; 0: none.
int sandbox_layer_files_version(void);

// From now on no thread of the process makes a system call that a hub that serves doesn't make. Such a call
// is refused with EPERM, and one that no library of the hub's tries either ends the process (SIGSYS). Where
// the hub `dials`, it may open sockets of TCP and connect them. 0 or -errno.
int sandbox_layer_calls(bool dials);

// Whether a ring that is made now refuses what the hub doesn't use: tries it.
bool sandbox_ring_holds(void);

// No core dump from now on, and nobody who isn't root reads the process's memory.
void sandbox_layer_hide_memory(void);
