// The load of events that are streamed to EventSource, and published over WebSocket. Success and failure are
// those of load_http.h.
#include <stdio.h>

#include "bench/load/load_dial.h"
#include "bench/load/load_http.h"

static int greet_events(const struct load_greeting *greeting) {
    char path[LOAD_NAME_BYTES_MAX + 32];
    int dialled = load_dial(greeting->at);
    if (dialled < 0) {
        return dialled;
    }
    snprintf(path, sizeof path, "/events?pattern=%s", greeting->name->text);
    return load_greeted(dialled, load_http_ask(dialled, path, "Accept: text/event-stream\r\n", 200));
}

const struct load_wire load_wire_sse = {
    .name = "patchbay-sse",
    .is_hub = true,
    .sources = &load_wire_websocket,
    .greet = greet_events,
    .next = load_events_next,
};
