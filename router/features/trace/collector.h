// Where spans of traces go: a part of the hub's settings, as constant as these.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "core/wire/http_url.h"

struct resolver;

// The path where the URL has none (OTLP/HTTP).
#define COLLECTOR_PATH "/v1/traces"

struct collector {
    struct sockaddr_storage address;
    uint32_t bytes;                  // of the address; 0: it isn't known, the host is a name
    const struct resolver *resolver; // looks the name up; NULL: there is none
};

// Finds the address where the host is a numeric one, or localhost; false where it is a name of another kind.
bool collector_place(struct collector *collector, const struct http_url *url);
// Whether only this machine can reach it.
bool collector_is_local(const struct collector *collector);
