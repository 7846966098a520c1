// Values of options: judged, and stored in their fields.
#pragma once

#include "router/main/config_types.h"

// Sets an option from the source that is being read. False when the value can't be used: that has been said, with its bounds.
bool config_set(struct config *config, const struct option *option, const char *text);
// Sets all defaults that the table has.
void config_set_presets(struct config *config);
// The listeners that are served where none is named, and HTTP, which is the last one. False when they can't be: that has been said.
bool config_complete_listeners(struct config *config);
