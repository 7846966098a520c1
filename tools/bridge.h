// A thread between the client and a hub with another wire. The client speaks to the thread over a pair of sockets as
// over a plain connection, half-closing too. A bridge passes bytes on, and each kind of bridge translates them for the
// other side.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "tools/bridge_socket.h"

struct bridge {
    pthread_t thread;
    struct bridge_socket client, hub;
    atomic_bool released; // the thread must end, and leave the hub's socket as it is
};

// Starts the thread of a bridge whose hub side is connected. Returns the client's socket, or -errno.
int bridge_start(struct bridge *bridge, void *(*run)(void *bridge));
// Waits for the end of the thread, and frees the bridge. The client must have closed its socket. NULL is allowed.
void bridge_close(struct bridge *bridge);
// Ends a bridge, while no bytes are under way, and closes the client's socket. Returns the hub's socket, as it was
// before the bridge.
struct bridge_socket bridge_release(struct bridge *bridge, int client);
// Frees a bridge whose thread doesn't run.
void bridge_drop(struct bridge *bridge);

// Waits until a socket is ready, for `patience_ms` at most (-1: without limit), and reads and writes. Returns false if
// the time is over, or if a side can't be read or written any more.
bool bridge_step(struct bridge *bridge, int patience_ms);
