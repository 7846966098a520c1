// Decides whether a browser may use the hub. A page of another site must not, though its browser can reach the hub.
// Host shows a name that an attacker has pointed here (DNS rebinding). Origin and Sec-Fetch-Site show another page's
// request.
#pragma once

#include "core/wire/http_request.h"
#include "router/engine/shard/shard.h"
#include "router/features/feature_list.h"

struct address;

// Where the hub serves HTTP: the Host that requests may always name, and the origin of the hub's own pages. Shard 0
// writes it before anyone can connect.
struct http_site {
    char host[64]; // as in a URI; empty: HTTP isn't served
    uint16_t port; // 0 of a Unix socket
    bool is_secure;
};

static inline struct http_site *http_site_of(const struct shard *shard) {
    return shard->hub->states[FEATURE_HTTP];
}

// Implements feature.address_served: notes an address of HTTP.
void http_origin_note_address(struct shard *shard, const struct address *address);

struct http_origin {
    const char *fault; // the reason for a refusal, static; NULL: the request is allowed
    // The allowed origin, whose pages may read the answer; NULL: the origin isn't in --allow-origin
    const char *origin;
};

// Checks the head of a request.
struct http_origin http_origin_check(const struct shard *shard, const uint8_t *head,
                                     const struct http_request *request);
