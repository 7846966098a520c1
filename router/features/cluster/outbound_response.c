#include "router/features/cluster/outbound_response.h"

#include <assert.h>

#include "router/engine/shard/drop.h"
#include "router/features/cluster/heartbeat.h"
#include "router/features/cluster/hub_message.h"
#include "router/features/cluster/outbound_request.h"
#include "router/features/cluster/outbound_retry.h"
#include "router/features/cluster/spill_report.h"

// An offer that the other hub doesn't take, what it was but asked about, or what must be approved here first. One that has been taken can't
// be handed back.
static void take_back(struct link *link, struct outbound_request *outbound, const struct hub_header *header) {
    struct spill_reason returned = {.owed = header->owed < UINT32_MAX ? (uint32_t)header->owed : UINT32_MAX};
    assert(header->is_back);
    returned.nobody = outbound->probes && header->owed == 0;
    returned.serves_there = outbound->probes && header->owed == PROBE_SERVES_HERE;
    bool is_held = header->is_held && !outbound->taker;
    returned.held = is_held && (outbound->returns || outbound->kept);
    if (returned.held || ((outbound->offered || outbound->probes) && !outbound->taker))
        spill_report_back(link, outbound, &returned);
    else if (is_held)
        outbound_request_unapproved(link, outbound);
    else
        outbound_request_end(link, outbound, "the other hub hands back what it has taken");
}

// Whether it is said by who may have it: one that has refused it may say more, while another one has it.
static bool is_for(const struct outbound_request *outbound, const struct hub_header *header) {
    return outbound && (!header->given || !header->has_hub || outbound_retry_may_have(outbound, header->hub));
}

// Whoever doesn't know the question is there; who refuses has answered it.
static bool is_probe(const struct outbound_request *outbound, const struct hub_header *header) {
    return outbound->probes && !outbound->taker && !header->refused;
}

static void end_unread(struct link *link, struct outbound_request *outbound, enum error error, bool by_head,
                       uint32_t bytes) {
    assert(error != ERROR_NONE);
    if (error == ERROR_FRAME_TOO_LARGE)
        outbound_request_too_large(link, outbound, by_head, bytes);
    else
        outbound_request_end(link, outbound, "the answer could not be read");
}

void outbound_response_take(struct shard *shard, struct link *link, const struct frame *frame,
                            const struct nats_message *said, uint64_t number) {
    const uint8_t *bytes = frame->buffer->bytes + frame->at;
    struct hub_message opened;
    enum error error;
    hub_header_read(bytes, said->headers, &opened.header);
    number = number ? number : opened.header.answered;
    struct outbound_request *outbound = inflight_find_sent(&link->inflight, number);
    bool is_back = opened.header.given && opened.header.has_hub && opened.header.is_back;
    bool nobody = nats_status(bytes, said->headers) == 503;
    if (!nobody && !is_for(outbound, &opened.header)) {
        drop_one(shard, COUNT_DROP_RESPONSE_UNKNOWN, link->peer->name, frame->body.bytes);
    } else if (!outbound) {
        return; // it has ended meanwhile
    } else if (nobody) {
        outbound_request_nobody(link, outbound);
    } else if (frame->body.bytes == 0 && is_back) {
        heartbeat_heard(link, &opened.header);
        take_back(link, outbound, &opened.header);
    } else if (is_probe(outbound, &opened.header)) {
        spill_report_back(link, outbound, &(struct spill_reason){.nobody = false});
    } else if (!hub_message_read_body(shard, frame, said, &opened, &error)) {
        end_unread(link, outbound, error, hub_message_head_is_too_large(&opened), frame->unit->body_bytes);
    } else {
        heartbeat_heard(link, &opened.header);
        outbound_request_answered(link, outbound, &opened.header, &opened.frame);
    }
}
