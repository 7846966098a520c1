#include "router/transport/answering.h"

#include <assert.h>

#include "core/cluster/bundle.h"
#include "router/engine/shard/drop.h"
#include "router/transport/again.h"
#include "router/transport/going.h"
#include "router/transport/nats_open.h"
#include "router/transport/returning.h"
#include "router/transport/signs.h"

// An offer that the other hub doesn't take, what it was but asked about, or what must be approved here first. One that has been taken can't
// be handed back.
static void take_back(struct link *link, struct crossing *crossing, const struct hub_header *mark) {
    struct spill_reason returned = {.owed = mark->owed < UINT32_MAX ? (uint32_t)mark->owed : UINT32_MAX};
    assert(mark->is_back);
    returned.nobody = crossing->probes && mark->owed == 0;
    returned.serves_there = crossing->probes && mark->owed == PROBE_SERVES_HERE;
    bool is_held = mark->is_held && !crossing->taker;
    returned.held = is_held && (crossing->returns || crossing->kept);
    if (returned.held || ((crossing->offered || crossing->probes) && !crossing->taker))
        returning_back(link, crossing, &returned);
    else if (is_held)
        going_unapproved(link, crossing);
    else
        going_end(link, crossing, "the other hub hands back what it has taken");
}

// Whether it is said by who may have it: one that has refused it may say more, while another one has it.
static bool is_for(const struct crossing *crossing, const struct hub_header *mark) {
    return crossing && (!mark->given || !mark->has_hub || again_may_have(crossing, mark->hub));
}

// Whoever doesn't know the question is there; who refuses has answered it.
static bool is_probe(const struct crossing *crossing, const struct hub_header *mark) {
    return crossing->probes && !crossing->taker && !mark->refused;
}

static void end_unread(struct link *link, struct crossing *crossing, enum error error, bool by_head,
                       uint32_t bytes) {
    assert(error != ERROR_NONE);
    if (error == ERROR_FRAME_TOO_LARGE)
        going_too_large(link, crossing, by_head, bytes);
    else
        going_end(link, crossing, "the answer could not be read");
}

// --- Several in one message

static void take_one(struct shard *shard, struct link *link, const struct frame *bundle,
                     const struct hub_header *mark, uint64_t number, struct span body) {
    struct crossing *crossing = crossings_find_sent(&link->crossings, number);
    assert(body.bytes > 0);
    struct unit unit = {
        .sized = true, .body_at = body.at, .body_bytes = body.bytes, .bytes = body.at + body.bytes};
    if (!is_for(crossing, mark)) {
        drop_one(shard, COUNT_DROP_RESPONSE_UNKNOWN, link->peer->name, body.bytes);
    } else if (is_probe(crossing, mark)) {
        returning_back(link, crossing, &(struct spill_reason){.nobody = false});
    } else if (body.bytes > nats_body_bytes_max(shard, mark)) {
        end_unread(link, crossing, ERROR_FRAME_TOO_LARGE, false, body.bytes);
    } else {
        struct frame frame = frame_at(bundle->buffer, bundle->at, &unit);
        going_answered(link, crossing, mark, &frame);
    }
}

// Some of them at a time, so that what is known of each is fetched while those before it are handed on.
struct answers {
    uint32_t count;
    uint64_t numbers[CROSSINGS_FORESEEN_MAX];
    struct span bodies[CROSSINGS_FORESEEN_MAX];
};

static void read_some(const struct link *link, const uint8_t *bytes, struct span *rest, struct answers *out) {
    const struct pending_table *pending = &link->shard->pending;
    struct bundled bundled;
    out->count = 0;
    while (out->count < CROSSINGS_FORESEEN_MAX &&
           bundle_next(bytes, rest, &bundled, &out->bodies[out->count])) {
        pending_foresee(pending, bundled.number);
        out->numbers[out->count++] = bundled.number;
    }
    crossings_foresee(&link->crossings, out->numbers, out->count);
}

static void take_bundle(struct shard *shard, struct link *link, const struct frame *frame,
                        const struct hub_header *mark) {
    const uint8_t *bytes = frame->buffer->bytes + frame->at;
    struct span rest = {frame->body.at - frame->at, frame->body.bytes};
    struct answers some;
    assert(mark->is_bundle && mark->has_hub);
    signs_heard(link, mark);
    do {
        read_some(link, bytes, &rest, &some);
        for (uint32_t at = 0; at < some.count && link->peer->state == PEER_OPEN; at++)
            take_one(shard, link, frame, mark, some.numbers[at], some.bodies[at]);
    } while (some.count == CROSSINGS_FORESEEN_MAX && link->peer->state == PEER_OPEN);
    if (rest.bytes && link->peer->state == PEER_OPEN)
        nats_count_unreadable(shard);
}

void answering_bundle(struct link *link, uint64_t serial, bool nobody) {
    struct list all;
    list_init(&all);
    crossings_take_bundle(&link->crossings, serial, &all);
    for (struct list *node; (node = list_take(&all));) {
        struct crossing *crossing = list_entry(node, struct crossing, link);
        list_append(&link->crossings.untaken, node);
        if (link->peer->state != PEER_OPEN)
            continue;
        if (nobody)
            going_nobody(link, crossing);
        else
            going_end(link, crossing, "the other hub can't read what it was asked");
    }
}

// --- One

void answering_take(struct shard *shard, struct link *link, const struct frame *frame,
                    const struct nats_message *said, uint64_t number) {
    const uint8_t *bytes = frame->buffer->bytes + frame->at;
    struct opened opened;
    enum error error;
    hub_header_read(bytes, said->headers, &opened.mark);
    if (opened.mark.is_bundle && opened.mark.has_hub) {
        take_bundle(shard, link, frame, &opened.mark);
        return;
    }
    number = number ? number : opened.mark.answered;
    struct crossing *crossing = crossings_find_sent(&link->crossings, number);
    bool is_back = opened.mark.given && opened.mark.has_hub && opened.mark.is_back;
    bool nobody = nats_status(bytes, said->headers) == 503;
    if (!nobody && !is_for(crossing, &opened.mark)) {
        drop_one(shard, COUNT_DROP_RESPONSE_UNKNOWN, link->peer->name, frame->body.bytes);
    } else if (!crossing) {
        return; // it has ended meanwhile
    } else if (nobody) {
        going_nobody(link, crossing);
    } else if (frame->body.bytes == 0 && is_back) {
        signs_heard(link, &opened.mark);
        take_back(link, crossing, &opened.mark);
    } else if (is_probe(crossing, &opened.mark)) {
        returning_back(link, crossing, &(struct spill_reason){.nobody = false});
    } else if (!nats_open_marked(shard, frame, said, &opened, &error)) {
        end_unread(link, crossing, error, nats_head_is_too_large(&opened), frame->unit->body_bytes);
    } else {
        signs_heard(link, &opened.mark);
        going_answered(link, crossing, &opened.mark, &opened.frame);
    }
}
