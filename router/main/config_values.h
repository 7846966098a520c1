// Checks the values of options, and stores them in their fields.
#pragma once

#include "router/main/config_types.h"

// Sets an option from the current source. Returns false if the value can't be used; the fault and the bounds have been
// named then.
bool config_set(struct config *config, const struct option *option, const char *text);
// Sets all defaults of the table.
void config_set_presets(struct config *config);
// Adds the default listeners if none are configured, then the passed sockets, then the addresses of features. Returns
// false if they can't be used; the fault has been named then.
bool config_complete_listeners(struct config *config);
