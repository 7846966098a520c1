// The other end of `patchbay hcs`: a producer that plays a file.
#pragma once

#include "tools/commands.h"

// `patchbay hcs serve AGENT-ID FILE [--interval TIME]`.
enum status hcs_serve(int argc, char **argv, const char *hub);
