#include "router/features/http/http_rpc.h"

#include <assert.h>

#include "core/wire/http_block.h"
#include "router/engine/send/reply.h"
#include "router/events/events.h"
#include "router/features/http/http_response.h"
#include "router/routing/route.h"

bool http_rpc_takes(const struct http_call *call) {
    static const char *const types[] = {"application/json", "application/json-rpc",
                                        "application/vscode-jsonrpc"};
    struct span type = call->request.fields[HTTP_CONTENT_TYPE];
    for (size_t index = 0; index < sizeof types / sizeof *types; index++)
        if (!http_repeated(&call->request, HTTP_CONTENT_TYPE) &&
            http_media_type_is(call->head, type, types[index]))
            return true;
    return false;
}

static void refuse_empty(struct shard *shard, struct http_call *call) {
    struct text data;
    text_init(&data);
    reply_data_text(&data, "fault", "there is no body");
    exchange_expect(call->exchange);
    reply_error(shard, call->peer, (struct reply_to){.exchange = call->exchange}, ERROR_PARSE, &data);
}

// Makes the request a frame, as it would come on a framed connection: the header fields that pass are before the body.
// Then routes the frame.
void http_rpc(struct shard *shard, struct http_call *call) {
    struct peer *peer = call->peer;
    struct buffer *buffer = call->frame->buffer;
    if (!http_rpc_takes(call)) {
        http_answer_fault(shard, call->exchange, 415, "the content must be application/json");
        return;
    }
    if (peer->unit.body_bytes == 0) {
        refuse_empty(shard, call);
        exchange_close(shard, call->exchange);
        return;
    }
    uint32_t at = call->frame->at + http_make_framed(buffer->bytes + call->frame->at, &peer->unit);
    struct frame frame = frame_at(buffer, at, &peer->unit);
    stats_count(&shard->stats, COUNT_FRAMES_RECEIVED);
    route_frame(shard, peer, &frame, call->exchange);
    events_flush(shard);
    exchange_close(shard, call->exchange);
}
