// A thread between the client and a hub of another wire. The client speaks to the thread over a pair of
// sockets as over a plain connection, half-closing too. The bridge carries bytes; each kind of bridge makes
// of them the other side's own.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "tools/bridge_socket.h"

struct bridge {
    pthread_t thread;
    struct bridge_socket client, hub;
    atomic_bool released; // its thread is to end, and leave all as it is
};

// Begins to run, with a connected hub's side. The client's socket, or -errno.
int bridge_start(struct bridge *bridge, void *(*run)(void *bridge));
// After the client has closed its socket: waits for the thread's end, and frees the bridge. NULL is allowed.
void bridge_close(struct bridge *bridge);
// Instead, while nothing is on its way: closes the client's socket, and gives what is behind it, as it was before the bridge.
struct bridge_socket bridge_release(struct bridge *bridge, int client);
// Frees one that doesn't run.
void bridge_drop(struct bridge *bridge);

// Waits until something can be done, for so long (-1: as it takes), and does it: reads and writes. False: it took
// longer, or one of the two can't be read or written any more.
bool bridge_step(struct bridge *bridge, int patience_ms);
