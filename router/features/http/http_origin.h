// Who may speak to the hub from a browser: a page of somebody else's must not, though the browser that shows
// it can reach the hub. A name that an attacker has pointed here (DNS rebinding) is told by Host, another
// page's request by Origin and Sec-Fetch-Site.
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
