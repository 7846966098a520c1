// Judges whether a browser may speak to the hub: a page of another site must not, though the browser that
// shows it can reach the hub. Host tells a name that an attacker has pointed here (DNS rebinding), Origin and
// Sec-Fetch-Site tell another page's request.
#pragma once

#include "core/wire/http_request.h"
#include "router/engine/shard/hub.h"

struct http_origin {
    const char *fault;  // what is wrong, static; NULL: nothing
    const char *origin; // that is allowed by name, and may read answers; NULL: none
};

// Judges the head of a request.
struct http_origin http_origin_check(const struct hub_settings *settings, const uint8_t *head,
                                     const struct http_request *request);
