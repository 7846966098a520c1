// What each role asks a hub for before it begins, whatever the wire.
#pragma once

#include "bench/load/load_wire.h"

enum { LOAD_PARAMS_BYTES_MAX = LOAD_NAME_BYTES_MAX + 96 };

// Its method, with the params written; NULL: nothing. Who asks registers too: its requests name it as their
// sourceAgent, which strict validation looks up.
const char *load_first_request(const struct load_greeting *greeting, char params[LOAD_PARAMS_BYTES_MAX]);
