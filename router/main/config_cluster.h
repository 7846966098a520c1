// Reads and checks the options that connect hubs through NATS.
#pragma once

#include "router/main/config_types.h"

// Reads the URLs of --nats, with commas between them. Returns false if they can't be used; the fault has been named
// then, without the URL, which may hold a password.
bool config_nats(struct config *config, const char *text);
// Reads the name of --cluster. Returns false if it can't be used; the fault has been named then.
bool config_cluster(struct config *config, const char *text);
// Checks whether the options of the cluster fit together, when all options have been read.
bool config_check_cluster(struct config *config);
// Returns whether the hub may have to look up names of servers: names of --nats, or names that a server gives.
bool config_needs_resolver(const struct config *config);
// Returns whether both configurations have the same servers and the same cluster. A running hub can't change them.
bool config_is_same_cluster(const struct config *now, const struct config *fresh);
// Returns a copy of the arguments, which are read again at SIGHUP; the copy stays until the process ends. Overwrites
// the secrets of servers' URLs in `argv`, where other processes can read them. Returns NULL without memory.
char **config_keep_arguments(int argc, char **argv);
