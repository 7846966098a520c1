#include "router/engine/shard/transport.h"

#include <assert.h>
#include <string.h>

const struct transport transport_framed = {.name = "", .codec.wire = &wire_framed, .gauge = GAUGE_FRAMED};
const struct transport transport_lines = {.name = "lines", .codec.wire = &wire_lines, .gauge = GAUGE_LINES};

const struct transport *transport_find(const struct feature *const *features, const char *name) {
    assert(name);
    if (strcmp(name, transport_framed.name) == 0)
        return &transport_framed;
    if (strcmp(name, transport_lines.name) == 0)
        return &transport_lines;
    for (unsigned number = 0; features && number < FEATURES_MAX; number++) {
        const struct transport *const *at = features[number] ? features[number]->transports : NULL;
        for (; at && *at; at++)
            if (strcmp((*at)->name, name) == 0)
                return *at;
    }
    return NULL;
}
