// See websocket_bridge.h. Success: each line becomes a message and each message a line. Pings and the close handshake
// are answered. When the client has ended its input, the bridge waits for the answers, then sends a ping. The pong
// shows that the hub has read all, and the bridge closes. Failure: the hub goes, or breaks the protocol: the client's
// stream ends.
#include "tools/websocket_bridge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/lookup/lookup.h"
#include "core/wire/websocket.h"
#include "core/wire/wire.h"
#include "tools/hub_address.h"
#include "tools/tls_dial.h"
#include "tools/websocket_dial.h"

enum { HEAD_BYTES_MAX = 14, ID_BYTES_MAX = 1024, HOST_BYTES_MAX = 300 };

static const struct unit_limits limits = {.header_bytes_max = 32 * 1024, .body_bytes_max = 1U << 30};

struct websocket_bridge {
    struct bridge bridge;
    struct unit client_unit, hub_unit; // the scans of the units that start at each side's `at`
    uint64_t owed;                     // requests of the client that have no answer
    bool asked_last;                   // the ping after the client's last message was sent
    bool said_close;                   // the bridge has sent a close frame
    bool broken;
};

// --- Messages

static void put_frame(struct websocket_bridge *bridge, enum websocket_opcode opcode, const uint8_t *payload,
                      size_t count) {
    struct text *out = &bridge->bridge.hub.out;
    uint8_t mask[WEBSOCKET_MASK_BYTES];
    char head[HEAD_BYTES_MAX];
    if (getrandom(mask, sizeof mask, 0) != (ssize_t)sizeof mask) {
        bridge->broken = true;
        return;
    }
    text_add(out, head, websocket_client_head(head, opcode, count, mask));
    text_add(out, payload, count);
    if (!out->failed) {
        uint8_t *copy = (uint8_t *)out->bytes + out->length - count;
        websocket_mask_off(copy, copy, count, mask);
    }
}

static void put_close(struct websocket_bridge *bridge, const uint8_t *payload, size_t count) {
    static const uint8_t normal[] = {WEBSOCKET_CODE_NORMAL >> 8, WEBSOCKET_CODE_NORMAL & 255};
    if (!bridge->said_close) {
        put_frame(bridge, WEBSOCKET_CLOSE, payload != NULL ? payload : normal,
                  payload != NULL ? count : sizeof normal);
    }
    bridge->said_close = true;
}

static enum body_kind kind_of(const uint8_t *body, uint32_t count) {
    struct lookup found;
    lookup_body(&found, body, count, ID_BYTES_MAX);
    return found.kind;
}

static void take_lines(struct websocket_bridge *bridge) {
    struct bridge_socket *client = &bridge->bridge.client;
    while (client->at < client->in.length) {
        uint8_t *line = (uint8_t *)client->in.bytes + client->at;
        size_t count = client->in.length - client->at;
        enum unit_result result = wire_lines.scan(&bridge->client_unit, line, count, &limits);
        if (result == UNIT_OPEN && client->ended) {
            result = wire_lines.end(&bridge->client_unit, line, count);
        }
        if (result != UNIT_WHOLE) {
            bridge->broken |= result == UNIT_BAD;
            return;
        }
        if (bridge->client_unit.body_bytes > 0) {
            enum body_kind kind = kind_of(line + bridge->client_unit.body_at, bridge->client_unit.body_bytes);
            bridge->owed += kind == BODY_REQUEST || kind == BODY_BATCH;
            put_frame(bridge, WEBSOCKET_TEXT, line + bridge->client_unit.body_at,
                      bridge->client_unit.body_bytes);
        }
        client->at += bridge->client_unit.bytes;
        unit_begin(&bridge->client_unit);
    }
}

static void put_line(struct websocket_bridge *bridge, uint8_t *body, uint32_t count) {
    enum body_kind kind = kind_of(body, count);
    bridge->owed -= bridge->owed > 0 && (kind == BODY_RESPONSE || kind == BODY_BATCH);
    for (uint32_t at = 0; at < count; at++) {
        body[at] = body[at] == '\r' || body[at] == '\n' ? ' ' : body[at];
    }
    text_add(&bridge->bridge.client.out, body, count);
    text_put(&bridge->bridge.client.out, "\n");
}

static void take_aside(struct websocket_bridge *bridge, const uint8_t *unit) {
    struct bridge_socket *hub = &bridge->bridge.hub;
    const uint8_t *payload = unit + bridge->hub_unit.control_at;
    switch (websocket_aside(&bridge->hub_unit)) {
    case WEBSOCKET_PING:
        put_frame(bridge, WEBSOCKET_PONG, payload, bridge->hub_unit.control_bytes);
        break;
    case WEBSOCKET_PONG:
        if (bridge->asked_last) {
            put_close(bridge, NULL, 0);
        }
        break;
    default: // answers the hub's close with the same bytes
        put_close(bridge, payload, bridge->hub_unit.control_bytes);
        hub->ended = true;
        break;
    }
}

static void take_messages(struct websocket_bridge *bridge) {
    struct bridge_socket *hub = &bridge->bridge.hub;
    while (hub->at < hub->in.length) {
        uint8_t *unit = (uint8_t *)hub->in.bytes + hub->at;
        enum unit_result result =
            websocket_client_scan(&bridge->hub_unit, unit, hub->in.length - hub->at, &limits);
        if (result == UNIT_CONTROL) {
            take_aside(bridge, unit);
            continue;
        }
        if (result != UNIT_WHOLE) {
            bridge->broken |= result == UNIT_BAD;
            return;
        }
        if (bridge->hub_unit.body_bytes > 0) {
            put_line(bridge, unit + bridge->hub_unit.body_at, bridge->hub_unit.body_bytes);
        }
        hub->at += bridge->hub_unit.bytes;
        unit_begin(&bridge->hub_unit);
    }
}

// --- The thread

// Sends the last ping when the client sends no more and the hub owes nothing.
static void ask_last(struct websocket_bridge *bridge) {
    if (bridge->bridge.client.ended && bridge->owed == 0 && !bridge->asked_last && !bridge->said_close) {
        bridge->asked_last = true;
        put_frame(bridge, WEBSOCKET_PING, NULL, 0);
    }
}

// Passes messages once. Returns false when one side has gone.
static bool step(struct websocket_bridge *bridge) {
    if (!bridge_step(&bridge->bridge, -1)) {
        return false;
    }
    take_lines(bridge);
    take_messages(bridge);
    if (bridge->bridge.client.gone) {
        return false;
    }
    ask_last(bridge);
    return !bridge->broken && !bridge->bridge.client.out.failed && !bridge->bridge.hub.out.failed &&
           !bridge->bridge.hub.ended;
}

static void *run(void *context) {
    struct websocket_bridge *bridge = context;
    take_messages(bridge); // messages that came with the handshake
    while (step(bridge)) {
    }
    if (!bridge->broken) {
        put_close(bridge, NULL, 0);
    }
    bridge_socket_flush(&bridge->bridge.client);
    bridge_socket_flush(&bridge->bridge.hub);
    bridge_socket_end(&bridge->bridge.hub);
    close(bridge->bridge.client.socket);
    bridge->bridge.client.socket = -1;
    return NULL;
}

// --- Opening and closing

bool websocket_bridge_is(const char *uri) {
    return strncmp(uri, "ws://", 5) == 0 || strncmp(uri, "wss://", 6) == 0;
}

// Splits the URI into the hub's address and the path. Returns 0 or -EINVAL.
static int read_uri(const char *uri, struct hub_address *hub, char *host, size_t capacity,
                    const char **path) {
    const char *begin = strstr(uri, "://") + 3, *slash = strchr(begin, '/');
    size_t bytes = slash != NULL ? (size_t)(slash - begin) : strlen(begin);
    char plain[HOST_BYTES_MAX + sizeof "tls://"];
    if (bytes >= capacity || strpbrk(begin, " \r\n\t#") != NULL) {
        return -EINVAL;
    }
    memcpy(host, begin, bytes);
    host[bytes] = '\0';
    *path = slash != NULL && slash[1] != '\0' ? slash : "/ws";
    snprintf(plain, sizeof plain, "%s://%s", strncmp(uri, "wss", 3) == 0 ? "tls" : "tcp", host);
    return hub_address_parse(hub, plain);
}

static int shake_hands(struct websocket_bridge *bridge, const struct hub_address *address, const char *host,
                       const char *path, const char *token) {
    struct bridge_socket *hub = &bridge->bridge.hub;
    int error = address->address.secure ? tls_handshake(hub->socket, address, &hub->ssl) : 0;
    uint8_t *answer = malloc(WEBSOCKET_ANSWER_BYTES_MAX);
    size_t rest = 0;
    if (error == 0) {
        error = answer == NULL ? -ENOMEM : websocket_open(hub, host, path, token, answer, &rest);
    }
    if (error == 0) {
        text_reserve(&hub->in, rest + BUFFER_SLACK_BYTES);
        text_add(&hub->in, answer, rest);
        error = hub->in.failed ? -ENOMEM : 0;
    }
    free(answer);
    return error;
}

int websocket_bridge_dial(const char *uri, const char *token, struct bridge **out) {
    struct hub_address hub;
    const char *path;
    char host[HOST_BYTES_MAX];
    int error = read_uri(uri, &hub, host, sizeof host, &path);
    int dialled = error < 0 ? error : hub_address_dial(&hub);
    struct websocket_bridge *bridge = dialled < 0 ? NULL : calloc(1, sizeof *bridge);
    if (bridge == NULL) {
        if (dialled >= 0) {
            close(dialled);
        }
        return dialled < 0 ? dialled : -ENOMEM;
    }
    bridge->bridge.client.socket = -1;
    bridge->bridge.hub.socket = dialled;
    error = shake_hands(bridge, &hub, host, path, token);
    int result = error < 0 ? error : bridge_start(&bridge->bridge, run);
    if (result < 0) {
        bridge_drop(&bridge->bridge);
        return result;
    }
    *out = &bridge->bridge;
    return result;
}
