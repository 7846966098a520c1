// A request of HTTP under way.
#pragma once

#include "core/wire/http_request.h"
#include "router/engine/send/exchange.h"
#include "router/engine/shard/peer.h"

// A request that is being served. The call lies on the stack of transport_http.take.
struct http_call {
    struct peer *peer;
    const struct frame *frame;
    const uint8_t *head; // its bytes, from its start
    struct http_request request;
    struct exchange *exchange; // open: whoever serves it closes it, and it may be gone then
    bool has_gap;              // what lay behind it was let go while it waited
};
