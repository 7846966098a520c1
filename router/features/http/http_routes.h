// Paths of HTTP. A new path is a row in http_routes.c.
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
    bool serves_drain; // the path is served while the hub drains, too
    bool takes_over;   // GET changes the connection to another protocol than HTTP
    // With a users file (but for is_below):
    bool is_below;    // `path` is the beginning of many paths
    bool uses_bearer; // status 401 asks for a bearer token
    bool is_open;     // no credential is needed
    bool is_admins;   // the user needs the right to administer
    // A request for an upgrade may come without a credential, which the new protocol gets later.
    bool knows_later;
    void (*serve)(struct shard *shard, struct http_call *call);
    // Sets in call->exchange->http what a page of an allowed origin may send; NULL: as for most routes.
    void (*preflight)(const struct http_call *call);
};

enum { HTTP_MORE_ROUTES_MAX = 4 };
// Adds the rows of another feature. Called once, before any shard runs. The rows must stay in memory.
void http_routes_add(const struct http_route *rows, size_t count);

// Returns the row of a path, or NULL.
const struct http_route *http_route_find(const uint8_t *head, struct span path);
bool http_route_takes(const struct http_route *route, enum http_method method);
// Returns the Allow line of a route; static.
const char *http_route_allow(const struct http_route *route);

// --- The hub's own pages

// Paths that show the hub's state: whether it is alive, whether it takes requests, its metrics, and the status page.

void http_healthz(struct shard *shard, struct http_call *call);
void http_readyz(struct shard *shard, struct http_call *call);
void http_metrics(struct shard *shard, struct http_call *call);
// Serves a file of the status page.
void http_page(struct shard *shard, struct http_call *call);
