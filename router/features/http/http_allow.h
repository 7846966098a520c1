// The options --allow-host and --allow-origin: names that the operator allows (hub_settings.hosts and .origins).
#pragma once

#include "router/engine/shard/hub.h"

// Reads one of the two options, as feature.read_option.
const char *http_allow_read_option(struct hub_settings *settings, const char *name, const char *text);
