// A file of options: keys before the first section, and sections of children.
#pragma once

#include "router/main/config_types.h"

// Reads a file, of which every fault is named with its line. False when there is one, or it can't be read.
bool config_read_file(struct config *config, const char *path);
// Notes that an option was given, with its value, at the place that is being read. False when memory is used up.
bool config_note(struct config *config, const struct option *option, const char *value);
