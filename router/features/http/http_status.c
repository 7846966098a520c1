#include "router/features/http/http_status.h"

#include "router/audit/journal.h"
#include "router/features/http/http_response.h"
#include "router/features/page/page.h"
#include "router/methods/metrics.h"

void http_healthz(struct shard *shard, struct http_call *call) {
    http_answer(shard, call->exchange, 200, NULL, NULL);
}

void http_readyz(struct shard *shard, struct http_call *call) {
    if (shard->phase != HUB_SERVING)
        http_answer_fault(shard, call->exchange, 503, "the hub is about to end");
    else if (journal_is_failing(shard))
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
