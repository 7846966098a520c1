// /hcs: sessions of HCS over HTTP. GET opens a stream of server-sent events, and POST sends one frame.
#pragma once

#include "router/features/http/http_response.h"

void http_hcs(struct shard *shard, struct http_call *call);
