// The name of a process in lists of processes: its name (comm) and its first argument.
#pragma once

#include "io/io.h"

// Remembers where the arguments lie, at the start of the program. Later calls of process_name_set overwrite them, so the program
// must read copies of them.
void process_name_begin(int argc, char **argv);
// Gives the calling process a name of 1 to 31 bytes, of which the kernel keeps 15: `ps`, `pgrep -x` and `pidof` know it by that name alone. A process that was
// forked keeps the arguments of its parent otherwise. Without process_name_begin the arguments stay.
void process_name_set(const char *name);

// Opens standard input, output and error to /dev/null where the process was started without them. Otherwise a descriptor of
// the hub's own would bear that number, and get the lines of the log. The caller must call this before any other descriptor is
// opened. 0 or -errno.
int process_fill_streams(void);

// --- Signals

// The signals that a process has routed to its io, read from a descriptor.

struct signals {
    int descriptor; // -1: none
    bool ready;     // there may be something to read
    uint64_t token;
};

void signals_init(struct signals *signals);
// From now on SIGTERM, SIGINT and SIGHUP, which the process has blocked, can be read. 0 or -errno.
int signals_route(struct signals *signals, uint64_t token);
void signals_unroute(struct signals *signals);
// The next arrival as an event; false when there is none, and then `ready` is too.
bool signals_next(struct signals *signals, struct io_event *event);
