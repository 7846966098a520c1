// The address of the collector that takes spans, by the URL in the hub's settings (--otlp).
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "core/wire/http_url.h"
#include "router/engine/shard/hub.h"

// The path for a URL without a path (OTLP/HTTP).
#define COLLECTOR_PATH "/v1/traces"

struct collector {
    struct sockaddr_storage address;
    uint32_t bytes; // of the address; 0: unknown, since the host is a name
};

// Sets the address of a URL whose host is a numeric address or localhost. Returns false for another name.
bool collector_place(struct collector *collector, const struct http_url *url);
// Returns whether the address is known, and only this machine can reach it.
bool collector_is_local(const struct collector *collector);

// Reads --otlp into settings->collector_url. Parameters and result are those of feature.read_option.
const char *collector_read_option(struct hub_settings *settings, const char *name, const char *text);
// Lets the hub dial the collector. A collector on another machine is a fault without --insecure. Parameters and result
// are those of feature.check_settings.
const char *collector_check_settings(struct hub_settings *settings, bool insecure,
                                     char fault[FEATURE_FAULT_BYTES]);
// Returns whether there is a collector whose name must be looked up.
bool collector_needs_resolver(const struct hub_settings *settings);
