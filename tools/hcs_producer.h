// The producer's end of `patchbay hcs`, which plays a file.
#pragma once

#include "tools/commands.h"

// Runs `patchbay hcs serve AGENT-ID FILE [--interval TIME]`.
enum status hcs_serve(int argc, char **argv, const char *hub);
