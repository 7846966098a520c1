#include "router/features/http/http_routes.h"

#include <assert.h>
#include <string.h>

#include "router/features/http/http_hcs.h"
#include "router/features/http/http_rpc.h"
#include "router/features/http/http_status.h"
#include "router/features/http/sse_transport.h"
#include "router/features/http/websocket_transport.h"
#include "router/features/page/page.h"

enum {
    TAKES_GET = 1 << HTTP_GET,
    TAKES_READS = 1 << HTTP_GET | 1 << HTTP_HEAD,
    TAKES_POST = 1 << HTTP_POST,
};

static const struct http_route routes[] = {
    {.path = "/rpc", .methods = TAKES_POST, .serve = http_rpc}, // bodies and their answers
    {.path = "/ws",
     .methods = TAKES_GET,
     .takes_over = true,
     .knows_later = true,
     .serve = websocket_upgrade},                                                       // a peer
    {.path = "/events", .methods = TAKES_GET, .takes_over = true, .serve = sse_events}, // what is published
    {.path = "/hcs", .methods = TAKES_GET | TAKES_POST, .takes_over = true, .serve = http_hcs}, // sessions
    {.path = "/healthz",
     .methods = TAKES_READS,
     .serves_drain = true,
     .is_open = true,
     .serve = http_healthz}, // how the hub is
    {.path = "/readyz", .methods = TAKES_READS, .serves_drain = true, .is_open = true, .serve = http_readyz},
    {.path = "/metrics",
     .methods = TAKES_READS,
     .serves_drain = true,
     .is_admins = true,
     .serve = http_metrics},
};

static const struct http_route page = {.methods = TAKES_READS, .is_admins = true, .serve = http_page};

const struct http_route *http_route_find(const uint8_t *head, struct span path) {
    for (size_t index = 0; index < sizeof routes / sizeof *routes; index++)
        if (http_span_is(head, path, routes[index].path))
            return &routes[index];
    return page_find((const char *)head + path.at, path.bytes).bytes ? &page : NULL;
}

bool http_route_takes(const struct http_route *route, enum http_method method) {
    return route->methods >> method & 1;
}

const char *http_route_allow(const struct http_route *route) {
    switch (route->methods) {
    case TAKES_GET:
        return "Allow: GET\r\n";
    case TAKES_READS:
        return "Allow: GET, HEAD\r\n";
    case TAKES_GET | TAKES_POST:
        return "Allow: GET, POST\r\n";
    default:
        assert(route->methods == TAKES_POST);
        return "Allow: POST\r\n";
    }
}
