// Reads the files that the cluster's options name: the credentials that the hub shows a server, and the authorities for
// the server's certificate.
#pragma once

#include "router/main/config_types.h"

// Reads both. Returns false if a file can't be used; the fault has been named then.
bool config_prepare_cluster(struct config *config);
// Returns whether the cluster's settings hold credentials, or ask for TLS.
bool config_cluster_is_secret(const struct config *config);
