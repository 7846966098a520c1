// The first request of each role to a hub, whatever the wire.
#pragma once

#include "bench/load/load_wire.h"

enum { LOAD_PARAMS_BYTES_MAX = LOAD_NAME_BYTES_MAX + 96 };

// Returns the method, with the params written; NULL: none. A source registers too: its requests name it as
// their sourceAgent, which strict validation looks up.
const char *load_first_request(const struct load_greeting *greeting, char params[LOAD_PARAMS_BYTES_MAX]);
