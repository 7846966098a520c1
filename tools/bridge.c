#include "tools/bridge.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WAITING_MAX = 1 << 20 }; // bytes that wait for one side; then the other side isn't read

// --- Waiting

// Returns what to poll for on one side. A side that has gone isn't polled, because poll would report it all the time.
static struct pollfd wish(const struct bridge_socket *side, const struct bridge_socket *other) {
    bool reads = !side->ended && bridge_socket_waits(other) < WAITING_MAX;
    short events = (short)((reads ? POLLIN : 0) | (bridge_socket_waits(side) > 0 ? POLLOUT : 0));
    return (struct pollfd){.fd = side->gone ? -1 : side->socket, .events = events};
}

// Reads and writes one side as far as it is ready. Bytes that a side sent before it went still count.
static bool side_step(struct bridge_socket *side, short ready) {
    bool gone = (ready & (POLLHUP | POLLERR)) != 0;
    bool good = true;
    if (!side->ended && (gone || (ready & POLLIN) != 0)) {
        good = bridge_socket_read(side);
    }
    if (good && !gone && (ready & POLLOUT) != 0) {
        good = bridge_socket_write(side);
    }
    side->gone = gone && side->ended;
    return good;
}

bool bridge_step(struct bridge *bridge, int patience_ms) {
    struct bridge_socket *client = &bridge->client, *hub = &bridge->hub;
    struct pollfd waits[2] = {wish(client, hub), wish(hub, client)};
    bool more = bridge_socket_has_more(hub) && (waits[1].events & POLLIN) != 0;
    int ready = poll(waits, 2, more ? 0 : patience_ms);
    if (ready < 0) {
        return errno == EINTR;
    }
    if (more) {
        waits[1].revents |= POLLIN;
    }
    return (ready > 0 || more) && side_step(client, waits[0].revents) && side_step(hub, waits[1].revents);
}

// --- Opening and closing

void bridge_drop(struct bridge *bridge) {
    bridge_socket_close(&bridge->client);
    bridge_socket_close(&bridge->hub);
    free(bridge);
}

// Starts the thread with all signals blocked, so that the client's own thread gets them.
static int start_thread(struct bridge *bridge, void *(*run)(void *)) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&bridge->thread, NULL, run, bridge);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -error;
}

int bridge_start(struct bridge *bridge, void *(*run)(void *bridge)) {
    int pair[2];
    if (fcntl(bridge->hub.socket, F_SETFL, O_NONBLOCK) < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        return -errno;
    }
    bridge->client.socket = pair[1];
    int error = start_thread(bridge, run);
    if (error < 0) {
        close(pair[0]);
    }
    return error < 0 ? error : pair[0];
}

void bridge_close(struct bridge *bridge) {
    if (bridge != NULL) {
        pthread_join(bridge->thread, NULL);
        bridge_drop(bridge);
    }
}

struct bridge_socket bridge_release(struct bridge *bridge, int client) {
    atomic_store(&bridge->released, true);
    close(client);
    pthread_join(bridge->thread, NULL);
    struct bridge_socket hub = {.socket = bridge->hub.socket, .ssl = bridge->hub.ssl};
    fcntl(hub.socket, F_SETFL, 0);
    bridge->hub.socket = -1;
    bridge->hub.ssl = NULL;
    bridge_drop(bridge);
    return hub;
}
