// A server's costs, as its system and, where it is a hub, its statistics tell.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tools/client.h"

struct server_memory {
    uint64_t resident_bytes;  // all of it
    uint64_t anonymous_bytes; // of those, what the process itself took: no code, no files, no shared memory
};

// Reads the memory of a process; 0 or -errno.
int server_memory(pid_t pid, struct server_memory *memory);

// The hub's work so far, by its statistics.
struct server_work {
    uint64_t kernel_entries;
    uint64_t frames; // received
};

// Asks a hub over a connection of its own. 0, -EPROTO when it doesn't tell, or -errno.
int server_work(struct client *client, struct server_work *work);
// The process that serves `hub`: who listens at the other end of a Unix socket, else the `pid` that its
// statistics tell. 0 when that can't be told.
pid_t server_pid(const char *hub);
