// Checks whether what the configuration names can be had on this machine now.
#pragma once

#include "router/main/config_types.h"

// Names each file, folder and program that couldn't be had, where the option or the key stands, and counts these among config->faults.
// Nothing is bound, written or started. False where addresses are in use, which is named, too: by a hub that runs now, perhaps.
bool config_check(struct config *config);
// The same at a start, of what the start itself wouldn't name: false where the journal can't be had.
bool config_check_start(struct config *config);
// Checks the children alone, at SIGHUP. Without --check the faults are warnings: a program or a folder may be there later, and the
// hub tries again.
void config_check_children(struct config *config);
