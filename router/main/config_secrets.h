// The files that options for joining hubs name: credentials that the hub shows a server, and authorities for the
// server's certificate.
#pragma once

#include "router/main/config_types.h"

// Reads it all. False: something can't be used, and that has been said.
bool config_prepare_cluster(struct config *config);
// Whether the settings bear secrets, or are used to keep some.
bool config_cluster_is_secret(const struct config *config);
