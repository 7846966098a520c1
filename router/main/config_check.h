// Checks whether the files, folders, programs and addresses of the configuration can be used on this machine now.
#pragma once

#include "router/main/config_types.h"

// Names each file, folder and program that can't be used, with the option or key that names it, and counts them in
// config->faults. Binds, writes and starts nothing. Names addresses that are in use, too, perhaps by a hub that runs
// now: then returns false.
bool config_check(struct config *config);
// Checks at a start what the start itself wouldn't name. Returns false if the user or the journal is at fault. Faults
// of children are warnings.
bool config_check_start(struct config *config);
// Checks the children alone, at SIGHUP. Without --check the faults are warnings: a program or a folder may be there
// later, when the hub tries again.
void config_check_children(struct config *config);
