// The name of a process in lists of processes: its comm and its first argument.
#pragma once

#include "io/io.h"

// Remembers where the arguments are, at the start of the program. Later calls of process_name_set overwrite them, so
// the program must read copies.
void process_name_begin(int argc, char **argv);
// Gives the calling process a name of 1 to 31 bytes; the kernel's comm has the first 15. `ps`, `pgrep -x` and `pidof`
// know the process by this name alone. Without this call a forked process shows its parent's arguments. Without
// process_name_begin the arguments stay.
void process_name_set(const char *name);

// Opens standard input, output and error to /dev/null if the process was started without them. Otherwise a descriptor
// of the hub's own could get number 2, and with it the log. Must be called before any other descriptor is opened.
// Returns 0 or -errno.
int process_fill_streams(void);

// --- Signals

// The signals that a process has routed to its io, read from a signalfd.

struct signals {
    int descriptor; // -1: none
    bool ready;     // the descriptor may be readable
    uint64_t token;
};

void signals_init(struct signals *signals);
// Makes SIGTERM, SIGINT and SIGHUP readable from a descriptor. The process must have blocked them. Returns 0 or -errno.
int signals_route(struct signals *signals, uint64_t token);
void signals_unroute(struct signals *signals);
// Reads the next signal as an event. Returns false, and resets `ready`, if there is none.
bool signals_next(struct signals *signals, struct io_event *event);
