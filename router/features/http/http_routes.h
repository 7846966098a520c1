// Paths of HTTP. A new one is a row in http_routes.c.
#pragma once

#include "router/features/http/http_response.h"

// Bits of http_route.methods.
enum {
    HTTP_TAKES_GET = 1 << HTTP_GET,
    HTTP_TAKES_POST = 1 << HTTP_POST,
    HTTP_TAKES_DELETE = 1 << HTTP_DELETE
};

struct http_route {
    const char *path;
    unsigned methods;  // bits of enum http_method
    bool serves_drain; // also while the hub drains
    bool takes_over;   // by GET: the connection then speaks something else than HTTP
    // Where users are on:
    bool is_below;    // the path is the beginning of paths
    bool uses_bearer; // 401 asks for a bearer token
    bool is_open;     // it needs no credential
    bool is_admins;   // it needs the right to administer
    bool
        knows_later; // a credential may come later, by what the connection then speaks, where an upgrade is asked for
    void (*serve)(struct shard *shard, struct http_call *call);
    // Says in call->exchange->http what a page of an allowed origin may send; NULL: as most routes.
    void (*preflight)(const struct http_call *call);
};

enum { HTTP_MORE_ROUTES_MAX = 4 };
// Adds the rows of another feature, which stay there, once and before any shard runs.
void http_routes_add(const struct http_route *rows, size_t count);

// The row of a path, or NULL.
const struct http_route *http_route_find(const uint8_t *head, struct span path);
bool http_route_takes(const struct http_route *route, enum http_method method);
// The header line that lists what it takes; static.
const char *http_route_allow(const struct http_route *route);

// --- The hub's own pages

// Paths that show how the hub is: whether it lives, whether it takes work, its figures, and the status page.

void http_healthz(struct shard *shard, struct http_call *call);
void http_readyz(struct shard *shard, struct http_call *call);
void http_metrics(struct shard *shard, struct http_call *call);
// A file of the status page.
void http_page(struct shard *shard, struct http_call *call);
