// Paths that show how the hub is: whether it lives, whether it takes work, its figures, and the status page.
#pragma once

#include "router/features/http/http_call.h"

void http_healthz(struct shard *shard, struct http_call *call);
void http_readyz(struct shard *shard, struct http_call *call);
void http_metrics(struct shard *shard, struct http_call *call);
// A file of the status page.
void http_page(struct shard *shard, struct http_call *call);
