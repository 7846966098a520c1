#include "router/shard/transport.h"

#include <string.h>

const struct transport transport_framed = {.name = "", .wire = &wire_framed};
const struct transport transport_lines = {.name = "lines", .wire = &wire_lines};

const struct transport *transport_find(const char *name) {
    static const struct transport *const transports[] = {&transport_framed, &transport_lines};
    for (size_t index = 0; index < sizeof transports / sizeof *transports; index++)
        if (strcmp(transports[index]->name, name) == 0)
            return transports[index];
    return NULL;
}
