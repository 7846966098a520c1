// The options that join hubs through NATS.
#pragma once

#include "router/main/config_types.h"

// Reads --nats: URLs with commas between them. False when it can't be used; that has been said, and nothing of the URL, which may
// hold a password.
bool config_nats(struct config *config, const char *text);
// Reads --cluster: the name.
bool config_cluster(struct config *config, const char *text);
// Whether all of it goes together, when all has been read.
bool config_check_cluster(struct config *config);
// Whether servers may be known by names, those that are given or those that these name.
bool config_needs_resolver(const struct config *config);
// Whether both name the same servers, and the same cluster: a running hub keeps to its own.
bool config_is_same_cluster(const struct config *now, const struct config *fresh);
// Returns a copy of the arguments, for each time that they are read; the copy stays until the process ends. Overwrites secrets of
// servers' URLs in `argv`, where other processes can see them. NULL without memory.
char **config_keep_arguments(int argc, char **argv);
