#include "router/engine/shard/transport.h"

const struct transport transport_framed = {.name = "", .codec.wire = &wire_framed, .gauge = GAUGE_FRAMED};
const struct transport transport_lines = {.name = "lines", .codec.wire = &wire_lines, .gauge = GAUGE_LINES};
