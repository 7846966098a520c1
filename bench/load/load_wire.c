// The protocols by name.
#include "bench/load/load_wire.h"

#include <string.h>

static const struct load_wire *const wires[] = {
    &load_wire_patchbay, &load_wire_lines,     &load_wire_nats,  &load_wire_nats_websocket,
    &load_wire_nchan,    &load_wire_nchan_sse, &load_wire_redis, &load_wire_mqtt,
    &load_wire_relay,    &load_wire_websocket, &load_wire_sse,   &load_wire_rpc,
};

const struct load_wire *load_wire_named(const char *name) {
    for (size_t i = 0; i < sizeof wires / sizeof wires[0]; i++) {
        if (strcmp(wires[i]->name, name) == 0) {
            return wires[i];
        }
    }
    return NULL;
}
