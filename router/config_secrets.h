// What the options that join hubs name in files: what shows a server who the hub is, and who says who the server is.
#pragma once

#include "router/config_types.h"

// Reads it all. False: something can't be used, and that has been said.
bool config_prepare_cluster(struct config *config);
// Whether the settings bear secrets, or are used to keep some.
bool config_cluster_is_secret(const struct config *config);
