// Events through nginx with the nchan module: published over WebSocket, and to subscribers over WebSocket or streamed
// to EventSource. The server has /pub and /sub, and the channel's name as `id`.
// Success: what the server tells a publisher of its queue is a control message. Failure: a connection that isn't
// taken is refused, a frame that is no whole message is broken.
#include <stdio.h>
#include <string.h>

#include "bench/load/load_dial.h"
#include "bench/load/load_http.h"
#include "bench/load/load_websocket.h"

enum { PATH_BYTES_MAX = LOAD_NAME_BYTES_MAX + 16 };

static const char *path_of(const struct load_greeting *greeting, char path[PATH_BYTES_MAX]) {
    snprintf(path, PATH_BYTES_MAX, "/%s?id=%s", greeting->role == LOAD_PUBLISHES ? "pub" : "sub",
             greeting->name->text);
    return path;
}

static int greet_websocket(const struct load_greeting *greeting) {
    char path[PATH_BYTES_MAX];
    return load_websocket_dial(greeting->at, path_of(greeting, path));
}

static int greet_stream(const struct load_greeting *greeting) {
    char path[PATH_BYTES_MAX];
    int dialled = load_dial(greeting->at);
    if (dialled < 0) {
        return dialled;
    }
    return load_greeted(
        dialled, load_http_ask(dialled, path_of(greeting, path), "Accept: text/event-stream\r\n", 200));
}

static size_t write_event(const struct load_body *body, const struct load_event *event, uint8_t *out) {
    return load_wire_websocket.write_event(body, event, out);
}

static enum load_step next(const uint8_t *in, size_t bytes, struct load_message *message) {
    static const char told[] = "queued messages:";
    enum load_step step = load_websocket_next(in, bytes, message);
    if (step == LOAD_MESSAGE && message->body_bytes >= sizeof told - 1 &&
        memcmp(message->body, told, sizeof told - 1) == 0) {
        message->body = NULL;
    }
    return step;
}

const struct load_wire load_wire_nchan = {
    .name = "nchan",
    .greet = greet_websocket,
    .wrap_bytes_max = LOAD_WEBSOCKET_HEAD_BYTES_MAX,
    .write_event = write_event,
    .next = next,
};

const struct load_wire load_wire_nchan_sse = {
    .name = "nchan-sse",
    .sources = &load_wire_nchan,
    .greet = greet_stream,
    .next = load_events_next,
};
