// Decides whether a browser may use the hub. A page of another site must not, though its browser can reach the hub.
// Host shows a name that an attacker has pointed here (DNS rebinding). Origin and Sec-Fetch-Site show another page's
// request.
#pragma once

#include "core/wire/http_request.h"
#include "router/engine/shard/hub.h"

struct http_origin {
    const char *fault; // the reason for a refusal, static; NULL: the request is allowed
    // The allowed origin, whose pages may read the answer; NULL: the origin isn't in --allow-origin
    const char *origin;
};

// Checks the head of a request.
struct http_origin http_origin_check(const struct hub_settings *settings, const uint8_t *head,
                                     const struct http_request *request);
