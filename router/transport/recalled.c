#include "router/transport/recalled.h"

#include <assert.h>

#include "router/engine/request/validate.h"
#include "router/methods/cancel_request.h"
#include "router/routing/route_query.h"
#include "router/transport/nats_open.h"
#include "router/transport/signs.h"

// False: it isn't what it should be.
static bool pass_on(struct link *link, const struct frame *frame, const struct nats_message *said,
                    struct pending *pending) {
    struct opened opened;
    struct message message;
    enum error error;
    assert(!pending->cancelled);
    if (!nats_open(link->shard, frame, said, &opened, &error) || !opened.mark.given)
        return false;
    message_begin(&message, link->peer, NULL);
    message.frame = &opened.frame;
    message.body = frame_body(&opened.frame);
    validate_look_up(link->shard, &message);
    if (message.lookup.verdict != LOOKUP_GOOD || message.lookup.kind != BODY_NOTIFICATION)
        return false;
    route_query_read_method(&message);
    return cancel_request_cross(link->shard, &message, pending);
}

void recalled_take(struct link *link, const struct frame *frame, const struct nats_message *said,
                   uint64_t number) {
    struct hub_header mark;
    hub_header_read(frame->buffer->bytes + frame->at, said->headers, &mark);
    if (!mark.given || !mark.has_hub || !number) {
        nats_count_unreadable(link->shard);
        return;
    }
    struct pending *pending = signs_pending(link, mark.hub, number);
    if (pending && !pending->cancelled && !pass_on(link, frame, said, pending))
        nats_count_unreadable(link->shard);
}
