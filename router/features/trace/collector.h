// Where spans of traces go, as the URL in the hub's settings says (--otlp).
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "core/wire/http_url.h"
#include "router/engine/shard/hub.h"

// The path where the URL has none (OTLP/HTTP).
#define COLLECTOR_PATH "/v1/traces"

struct collector {
    struct sockaddr_storage address;
    uint32_t bytes; // of the address; 0: it isn't known, the host is a name
};

// Finds the address where the host is a numeric one, or localhost; false where it is a name of another kind.
bool collector_place(struct collector *collector, const struct http_url *url);
// Whether only this machine can reach it.
bool collector_is_local(const struct collector *collector);

// Reads --otlp into settings->collector_url: as feature.read_option.
const char *collector_read_option(struct hub_settings *settings, const char *name, const char *text);
// Lets the hub dial the collector. A collector on another machine is a fault without --insecure: as feature.check_settings.
const char *collector_check_settings(struct hub_settings *settings, bool insecure,
                                     char fault[FEATURE_FAULT_BYTES]);
// Whether there is a collector whose name has to be looked up.
bool collector_needs_resolver(const struct hub_settings *settings);
