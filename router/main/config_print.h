// --print-config: what is in force, as a file that --config reads again.
#pragma once

#include "router/main/config_types.h"

// Writes every key to standard output, with where each value is from behind `;`, and the sections of children. A key without a
// value is commented out. Secrets are `***`, which no file may have.
void config_print(const struct config *config);
// Whether a value has the place of a secret in it that was not shown.
bool config_print_hides(const char *value);
