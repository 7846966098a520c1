// Success: bytes are passed both ways unchanged. An end on one side is passed to the other side, to the hub as
// close_notify. Failure: the hub goes without close_notify, or sends bytes that are no record: the client's stream
// ends.
#include "tools/tls_bridge.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/tls_dial.h"

enum { GOODBYE_MS = 1000 };

static bool pass(struct bridge_socket *from, struct bridge_socket *to) {
    if (from->at < from->in.length) {
        text_add(&to->out, from->in.bytes + from->at, from->in.length - from->at);
    }
    from->at = from->in.length;
    return bridge_socket_write(to);
}

// Passes bytes of the hub to the client. Bytes for a client that has gone are still read, because the hub's end shows
// that the hub has read all.
static bool pass_down(struct bridge *bridge) {
    struct bridge_socket *client = &bridge->client;
    if (client->gone || !pass(&bridge->hub, client)) {
        bridge->hub.at = bridge->hub.in.length;
        client->sent = client->out.length = 0;
    }
    return !client->out.failed;
}

static void *run(void *context) {
    struct bridge *bridge = context;
    struct bridge_socket *client = &bridge->client, *hub = &bridge->hub;
    while (bridge_step(bridge, client->gone ? GOODBYE_MS : -1) && !atomic_load(&bridge->released) &&
           pass(client, hub) && pass_down(bridge)) {
        if (client->ended && bridge_socket_waits(hub) == 0) {
            bridge_socket_end(hub);
        }
        if (hub->ended && (client->gone || bridge_socket_waits(client) == 0)) {
            break;
        }
    }
    if (!atomic_load(&bridge->released)) {
        bridge_socket_end(hub);
    }
    close(client->socket);
    client->socket = -1;
    return NULL;
}

int tls_bridge_begin(int connected, const struct hub_address *hub, struct bridge **out) {
    struct bridge *bridge = calloc(1, sizeof *bridge);
    if (bridge == NULL) {
        close(connected);
        return -ENOMEM;
    }
    bridge->client.socket = -1;
    bridge->hub.socket = connected;
    int result = tls_handshake(connected, hub, &bridge->hub.ssl);
    result = result < 0 ? result : bridge_start(bridge, run);
    if (result < 0) {
        bridge_drop(bridge);
        return result;
    }
    *out = bridge;
    return result;
}

int tls_bridge_dial(const struct hub_address *hub, struct bridge **out) {
    int dialled = hub_address_dial(hub);
    return dialled < 0 ? dialled : tls_bridge_begin(dialled, hub, out);
}
