#include "router/features/http/http_routes.h"

#include <assert.h>
#include <string.h>

#include "router/audit/journal.h"
#include "router/features/http/http_hcs.h"
#include "router/features/http/http_response.h"
#include "router/features/http/http_rpc.h"
#include "router/features/http/sse_transport.h"
#include "router/features/http/websocket_transport.h"
#include "router/features/page/page.h"
#include "router/methods/metrics.h"

enum { TAKES_READS = HTTP_TAKES_GET | 1 << HTTP_HEAD };

static const struct http_route routes[] = {
    {.path = "/rpc", .methods = HTTP_TAKES_POST, .serve = http_rpc}, // JSON-RPC bodies
    {.path = "/ws",
     .methods = HTTP_TAKES_GET,
     .takes_over = true,
     .knows_later = true,
     .serve = websocket_upgrade}, // JSON-RPC by WebSocket
    {.path = "/events",
     .methods = HTTP_TAKES_GET,
     .takes_over = true,
     .serve = sse_events}, // events by server-sent events
    {.path = "/hcs",
     .methods = HTTP_TAKES_GET | HTTP_TAKES_POST,
     .takes_over = true,
     .serve = http_hcs}, // HCS sessions
    {.path = "/healthz",
     .methods = TAKES_READS,
     .serves_drain = true,
     .is_open = true,
     .serve = http_healthz}, // whether the hub is alive
    {.path = "/readyz", .methods = TAKES_READS, .serves_drain = true, .is_open = true, .serve = http_readyz},
    {.path = "/metrics",
     .methods = TAKES_READS,
     .serves_drain = true,
     .is_admins = true,
     .serve = http_metrics},
};

static const struct http_route page = {.methods = TAKES_READS, .is_admins = true, .serve = http_page};

static const struct http_route *more_routes;
static size_t more_count;

void http_routes_add(const struct http_route *rows, size_t count) {
    assert(count <= HTTP_MORE_ROUTES_MAX && (!more_routes || more_routes == rows));
    more_routes = rows;
    more_count = count;
}

static bool is_of(const struct http_route *route, const uint8_t *head, struct span path) {
    size_t bytes = strlen(route->path);
    return route->is_below ? path.bytes > bytes && memcmp(head + path.at, route->path, bytes) == 0
                           : http_span_is(head, path, route->path);
}

const struct http_route *http_route_find(const uint8_t *head, struct span path) {
    for (size_t index = 0; index < sizeof routes / sizeof *routes; index++)
        if (is_of(&routes[index], head, path))
            return &routes[index];
    for (size_t index = 0; index < more_count; index++)
        if (is_of(&more_routes[index], head, path))
            return &more_routes[index];
    return page_find((const char *)head + path.at, path.bytes).bytes ? &page : NULL;
}

bool http_route_takes(const struct http_route *route, enum http_method method) {
    return route->methods >> method & 1;
}

const char *http_route_allow(const struct http_route *route) {
    switch (route->methods) {
    case HTTP_TAKES_GET:
        return "Allow: GET\r\n";
    case TAKES_READS:
        return "Allow: GET, HEAD\r\n";
    case HTTP_TAKES_GET | HTTP_TAKES_POST:
        return "Allow: GET, POST\r\n";
    case HTTP_TAKES_GET | HTTP_TAKES_POST | HTTP_TAKES_DELETE:
        return "Allow: GET, POST, DELETE\r\n";
    default:
        assert(route->methods == HTTP_TAKES_POST);
        return "Allow: POST\r\n";
    }
}

// --- The hub's own pages

void http_healthz(struct shard *shard, struct http_call *call) {
    http_answer(shard, call->exchange, 200, NULL, NULL);
}

void http_readyz(struct shard *shard, struct http_call *call) {
    if (shard->phase != HUB_SERVING)
        http_answer_fault(shard, call->exchange, 503, "the hub is about to end");
    else if (journal_is_on(shard) && !journal_is_writable(shard, 0))
        http_answer_fault(shard, call->exchange, 503, "the journal can't be written");
    else
        http_answer(shard, call->exchange, 200, NULL, NULL);
}

void http_metrics(struct shard *shard, struct http_call *call) {
    struct text metrics;
    text_init(&metrics);
    metrics_write(shard, &metrics);
    http_answer(shard, call->exchange, 200, METRICS_TYPE, &metrics);
}

void http_page(struct shard *shard, struct http_call *call) {
    struct span path = call->request.line.path;
    struct page_file file = page_find((const char *)call->head + path.at, path.bytes);
    struct text content;
    text_init(&content);
    text_add(&content, file.bytes, file.count);
    call->exchange->http.fields = "Content-Security-Policy: " PAGE_POLICY "\r\n";
    http_answer(shard, call->exchange, 200, file.type, &content);
}
