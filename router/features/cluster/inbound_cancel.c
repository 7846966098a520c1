#include "router/features/cluster/inbound_cancel.h"

#include <assert.h>

#include "router/engine/request/validate.h"
#include "router/features/cluster/heartbeat.h"
#include "router/features/cluster/hub_message.h"
#include "router/methods/cancel_request.h"
#include "router/routing/route_query.h"

// False: it isn't what it should be.
static bool pass_on(struct link *link, const struct frame *frame, const struct nats_message *said,
                    struct pending *pending) {
    struct hub_message opened;
    struct message message;
    enum error error;
    assert(!pending->cancelled);
    if (!hub_message_read(link->shard, frame, said, &opened, &error) || !opened.header.given)
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

void inbound_cancel_take(struct link *link, const struct frame *frame, const struct nats_message *said,
                         uint64_t number) {
    struct hub_header header;
    hub_header_read(frame->buffer->bytes + frame->at, said->headers, &header);
    if (!header.given || !header.has_hub || !number) {
        hub_message_count_unreadable(link->shard);
        return;
    }
    struct pending *pending = heartbeat_pending(link, header.hub, number);
    if (pending && !pending->cancelled && !pass_on(link, frame, said, pending))
        hub_message_count_unreadable(link->shard);
}
