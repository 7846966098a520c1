#include "router/engine/request/cancel.h"

#include <assert.h>

#include "core/base/text.h"
#include "core/mcp/mcp_message.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/feature_call.h"
#include "router/engine/shard/peer_cold.h"
#include "router/engine/shard/post.h"

// --- At the source

// A request is cancelled once. A second cancel might find the request taken out of the queue, and would name to the
// target a request that it never got. The link is the exception: it gets another cancel when the source has left, since
// it knows which requests it has sent.
bool cancel_send(struct shard *shard, struct pending *pending, struct parcel *parcel, bool source_waits) {
    assert(parcel->pool == &shard->parcels && parcel->hole_count == 0 && !parcel->is_encoded);
    assert(hub_knows(shard->hub, pending->target));
    uint64_t target = pending->target;
    uint32_t to = connection_shard(target);
    assert(!pending->cancelled || !source_waits);
    if (!pending->cancelled)
        request_index_cancel(pending);
    parcel->hub_id = pending_hub_id(&shard->pending, pending);
    parcel->lane = LANE_URGENT;
    parcel->mail.kind = MAIL_CANCEL;
    parcel->mail.connection = target;
    parcel->mail.detail = source_waits;
    if (to == shard->index)
        return cancel_handle_mail(shard, parcel);
    mailbox_post(hub_mailbox(shard->hub, shard->index, to), &parcel->mail);
    return false;
}

static bool ends_at(struct shard *shard, uint64_t target) {
    const struct agent *agent = agents_one_at(&shard->agents, target);
    return agent && feature_cancel_ends(shard, agent);
}

// Returns whether the request is one to an MCP server, or one of its own requests.
bool cancel_is_end(struct shard *shard, const struct pending *pending) {
    // A peer that is ending is found, too
    const struct peer *source = shard->peers.slots[connection_slot(pending->source)];
    assert(!source || source->connection_id == pending->source);
    return ends_at(shard, pending->target) || (source && source->cold && source->cold->cancel_ends);
}

static void put_cancel(struct shard *shard, uint64_t target, uint64_t hub_id, struct text *body) {
    const struct agent *agent = agents_one_at(&shard->agents, target);
    if (agent && feature_put_cancel(shard, agent, hub_id, body))
        return;
    text_put(body, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":");
    text_number(body, (int64_t)hub_id);
    text_put(body, "}}");
}

// Makes a cancel of the hub's own, in the protocol of the target. Returns NULL without memory.
static struct parcel *make_cancel(struct shard *shard, uint64_t target, uint64_t hub_id, bool is_mcp) {
    assert(hub_id);
    struct text body;
    text_init(&body);
    if (is_mcp)
        mcp_put_cancelled(&body, hub_id, "given up");
    else
        put_cancel(shard, target, hub_id, &body);
    struct parcel *parcel = body.failed ? NULL : parcel_from_text(&shard->parcels, body.bytes, body.length);
    if (!parcel)
        text_deinit(&body);
    return parcel;
}

void cancel_abandoned(struct shard *shard, struct pending *pending) {
    if (pending->cancelled && pending->target != shard->remote_link.registrant.connection)
        return;
    struct parcel *parcel = make_cancel(shard, pending->target, pending_hub_id(&shard->pending, pending),
                                        cancel_is_end(shard, pending));
    if (parcel)
        cancel_send(shard, pending, parcel, false);
    else
        drop_one(shard, COUNT_DROP_NO_MEMORY, pending->target, 0);
}

// --- At the target

// Replaces a long cancel by one of the hub's own. A cancel passes a full queue, so its length must not be up to its
// source. Returns NULL without memory.
static struct parcel *replace_with_own(struct shard *shard, struct parcel *parcel) {
    struct parcel *own =
        make_cancel(shard, parcel->mail.connection, parcel->hub_id, ends_at(shard, parcel->mail.connection));
    if (own)
        own->lane = LANE_URGENT;
    else
        drop_one(shard, COUNT_DROP_NO_MEMORY, parcel->mail.connection, parcel->bytes);
    send_release(shard, parcel);
    return own;
}

// Lets a cancel pass a full queue. If the cancels alone have reached the queue's bound, since the target doesn't read,
// drops the cancel and returns NULL.
static struct parcel *limit_to_room(struct shard *shard, const struct peer *peer, struct parcel *parcel) {
    assert(parcel->lane == LANE_URGENT && !parcel->link);
    if (!queue_limit_has_room_for_urgent(shard, peer)) {
        drop_one(shard, COUNT_DROP_OVERLOADED, peer->connection_id, parcel->bytes);
        send_release(shard, parcel);
        return NULL;
    }
    bool is_long = parcel->bytes > COPY_BYTES_MAX && !queue_limit_has_room(shard, peer);
    return is_long ? replace_with_own(shard, parcel) : parcel;
}

bool cancel_withdraw(struct shard *shard, struct peer *peer, uint64_t hub_id) {
    assert(connection_shard(peer->connection_id) == shard->index);
    if (outbox_unpack(&peer->connection.outbox, hub_id))
        return true;
    struct parcel *request = outbox_remove(&peer->connection.outbox, hub_id);
    if (request)
        send_release(shard, request);
    return request != NULL;
}

bool cancel_in_queue_or_forward(struct shard *shard, struct peer *peer, struct parcel *parcel) {
    if (cancel_withdraw(shard, peer, parcel->hub_id))
        return true;
    if (peer->connection.paused) { // a stopped program has no requests any more
        send_release(shard, parcel);
        return false;
    }
    parcel = limit_to_room(shard, peer, parcel);
    if (!parcel)
        return false;
    parcel->hub_id = 0; // a cancel is no request
    stats_count(&shard->stats, COUNT_CANCELS_FORWARDED);
    send_queue_this_process(shard, peer, parcel);
    return false;
}

// Sends the cancel's own parcel back as the report.
bool cancel_return_to_source(struct shard *shard, struct parcel *parcel) {
    uint32_t to = parcel->pool->shard;
    bool source_waits = parcel->mail.detail;
    if (to == shard->index || !source_waits) {
        send_release(shard, parcel);
        return source_waits;
    }
    parcel->mail.kind = MAIL_CANCELLED;
    mailbox_post(hub_mailbox(shard->hub, shard->index, to), &parcel->mail);
    return false;
}

bool cancel_handle_mail(struct shard *shard, struct parcel *parcel) {
    assert(parcel->mail.kind == MAIL_CANCEL && parcel->hub_id);
    assert(connection_shard(parcel->mail.connection) == shard->index);
    struct peer *peer = peer_find(shard, parcel->mail.connection);
    // The requests to a peer that has left end by that. A request that the queue refused is answered by that.
    if (!peer || rejects_has(&shard->rejects, parcel->hub_id)) {
        send_release(shard, parcel);
        return false;
    }
    if (peer->transport->ops.cancel)
        return peer->transport->ops.cancel(shard, peer, parcel, parcel->mail.detail) &&
               cancel_return_to_source(shard, parcel);
    return cancel_in_queue_or_forward(shard, peer, parcel) && cancel_return_to_source(shard, parcel);
}
