// The option that sends spans of traces to a collector (--otlp).
#pragma once

#include "router/main/config_types.h"

// Reads --otlp. False when it can't be used; that has been said.
bool config_collector(struct config *config, const char *text);
// Whether it goes together with the rest, when all has been read. False: that has been said.
bool config_check_collector(struct config *config);
// Whether the collector is known by a name that has to be looked up.
bool config_collector_needs_resolver(const struct config *config);
