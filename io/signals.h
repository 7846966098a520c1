// The signals that a process has routed to its io, read from a descriptor.
#pragma once

#include "io/io.h"

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
