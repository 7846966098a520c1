#include "router/send/send.h"

#include "core/send/envelope.h"
#include <assert.h>

#include "core/base/text.h"
#include "router/send/behind.h"
#include "router/shard/drop.h"
#include "router/shard/post.h"
#include "router/shard/probe.h"

enum { URGENT_BYTES_MAX = 1 << 30 }; // each is small, and so their sum fits its field

bool send_has_room(const struct shard *shard, const struct peer *peer) {
    return outbox_footprint(&peer->connection.outbox) < shard_limits(shard)->queue_bytes_max;
}

bool send_has_room_for_urgent(const struct shard *shard, const struct peer *peer) {
    uint64_t max = shard_limits(shard)->queue_bytes_max;
    return peer->connection.outbox.urgent_bytes < (max < URGENT_BYTES_MAX ? max : URGENT_BYTES_MAX);
}

// Nobody waits for a small one; a large one's memory may be wanted.
static void send_send_home(struct shard *shard, struct parcel *parcel) {
    assert(parcel->pool->shard != shard->index && !parcel->origin);
    struct mailbox *mailbox = hub_mailbox(shard->hub, shard->index, parcel->pool->shard);
    parcel->mail.kind = MAIL_RETURN;
    if (parcel->bytes <= COPY_BYTES_MAX && shard->phase == HUB_SERVING)
        mailbox_post_idle(mailbox, &parcel->mail);
    else
        mailbox_post(mailbox, &parcel->mail);
}

void send_release(struct shard *shard, struct parcel *parcel) {
    assert(shard->magic == SHARD_MAGIC && !parcel->link); // no queue has it any more
    if (parcel->shares) {
        parcel->shares--;
        return;
    }
    if (parcel->pool == &shard->parcels) {
        struct parcel *origin = parcel_drop(parcel);
        if (origin)
            send_release(shard, origin);
        return;
    }
    send_send_home(shard, parcel);
}

struct parcel *send_detach(struct shard *shard, struct parcel *parcel) {
    assert(parcel->hole_count == 0 && parcel->shares == 0);
    if (parcel->bytes > COPY_BYTES_MAX || !(parcel->buffer || parcel->origin))
        return parcel;
    struct parcel *copy = parcel_copy_of(&shard->parcels, parcel);
    if (!copy)
        return parcel;
    send_release(shard, parcel);
    return copy;
}

void send_queue(struct shard *shard, struct peer *peer, struct parcel *parcel) {
    assert(connection_shard(peer->name) == shard->index);
    assert(parcel->hole_count == 0 && parcel->shares == 0 && !parcel->link);
    if (peer_is_deaf(peer)) {
        drop_several(shard, COUNT_DROP_TARGET_GONE, peer->name, parcel->bytes, parcel->frames);
        send_release(shard, parcel);
        return;
    }
    if (!parcel->dressed)
        parcel_dress(parcel, peer->transport->wire);
    if (peer->connection.shipment)
        parcel = send_detach(shard, parcel);
    outbox_add(&peer->connection.outbox, parcel);
    PROBE(queue, peer->name, parcel->bytes, peer->connection.outbox.bytes);
    if (list_empty(&peer->to_send))
        list_append(&shard->to_send, &peer->to_send);
}

static bool is_past_grace(const struct shard *shard, const struct peer *peer) {
    return outbox_footprint(&peer->connection.outbox) >= 2 * shard_limits(shard)->queue_bytes_max;
}

void send_queue_owed(struct shard *shard, struct peer *peer, struct parcel *parcel) {
    assert(!parcel->hub_id); // a request could be refused
    bool over = is_past_grace(shard, peer);
    send_queue(shard, peer, parcel);
    if (over)
        behind_watch(shard, peer);
}

void send_queue_chain(struct shard *shard, struct peer *peer, struct parcel_list *frame) {
    assert(frame->first && frame->first->dressed);
    bool over = is_past_grace(shard, peer);
    for (struct parcel *parcel; (parcel = parcel_list_take(frame));)
        send_queue(shard, peer, parcel);
    if (over)
        behind_watch(shard, peer);
}

// --- Events that were missed

static struct parcel *notice_of_missed(struct shard *shard, uint32_t count) {
    assert(count > 0);
    struct text text;
    text_init(&text);
    text_put(&text, "{\"jsonrpc\":\"2.0\",\"method\":\"hub/dropped\",\"params\":{\"count\":");
    text_number(&text, count);
    text_put(&text, "}}");
    struct parcel *parcel = text.failed ? NULL : parcel_own(&shard->parcels, text.bytes, text.length);
    if (!parcel)
        text_deinit(&text);
    return parcel;
}

static bool tell_missed(struct shard *shard, struct peer *peer, uint8_t lane) {
    assert(!peer_is_deaf(peer) && lane < LANES_COUNT);
    struct parcel *notice = notice_of_missed(shard, peer->missed);
    if (!notice)
        return false;
    notice->lane = lane;
    peer->missed = 0;
    send_queue(shard, peer, notice);
    return true;
}

bool send_event(struct shard *shard, struct peer *peer, struct parcel *parcel) {
    assert(!parcel->hub_id && send_has_room(shard, peer));
    if (peer->missed && !peer_is_deaf(peer) && !tell_missed(shard, peer, parcel->lane))
        return false;
    send_queue(shard, peer, parcel);
    return true;
}

void send_missed_before_end(struct shard *shard, struct peer *peer) {
    if (peer->missed && !peer_is_deaf(peer))
        tell_missed(shard, peer, LANE_NORMAL);
}

static void look_after(struct shard *shard, struct peer *peer) {
    assert(peer->state != PEER_CLOSING || peer->ending); // its end isn't carried out yet
    if (list_empty(&peer->to_send))
        list_append(&shard->to_send, &peer->to_send);
}

void send_missed(struct shard *shard, struct peer *peer, uint32_t count) {
    assert(count > 0);
    peer->missed += count;
    look_after(shard, peer);
}

// A queue that has emptied is the last place where what was missed can be told.
static void tell_when_emptied(struct shard *shard, struct peer *peer) {
    bool emptied = !peer->connection.shipment && outbox_empty(&peer->connection.outbox);
    if (peer->missed && emptied && !peer_is_deaf(peer) && !tell_missed(shard, peer, LANE_NORMAL))
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
}

// --- Sending

static void release_all(struct shard *shard, struct parcel_list *done) {
    for (struct parcel *parcel; (parcel = parcel_list_take(done));)
        send_release(shard, parcel);
}

// From now on it has something to take, and so can be idle though it sends nothing any more.
static void begun(struct shard *shard, struct peer *peer) {
    assert(peer->connection.shipment);
    peer->sending_ms = shard_tick(shard);
    if (peer->state == PEER_ENDED)
        peer_watch(shard, peer);
}

void send_flush(struct shard *shard, struct peer *peer) {
    assert(list_empty(&peer->to_send));
    assert(peer->state != PEER_CLOSING || peer->ending); // its end isn't carried out yet
    struct parcel_list done;
    parcel_list_init(&done);
    if (peer->state != PEER_CLOSING)
        tell_when_emptied(shard, peer);
    if (peer->state == PEER_CLOSING)
        return;
    bool was_free = !peer->connection.shipment;
    enum sending sending = connection_send(&peer->connection, shard->io, &shard->sender, &done);
    release_all(shard, &done);
    if (sending == SENDING_FAILED) {
        peer_close(shard, peer, COUNTERS_COUNT);
    } else if (sending == SENDING_BUSY && was_free) {
        begun(shard, peer);
        PROBE(send, peer->name, peer->connection.shipment->bytes, peer->connection.shipment->count);
        stats_count(&shard->stats, COUNT_SENDS);
    } else if (sending == SENDING_IDLE) { // what waited was taken back
        assert(outbox_empty(&peer->connection.outbox));
        peer_settle(shard, peer);
    }
}

void send_flush_all(struct shard *shard) {
    assert(shard->magic == SHARD_MAGIC);
    for (struct list *node; (node = list_take(&shard->to_send));)
        send_flush(shard, list_entry(node, struct peer, to_send));
}

void send_sent(struct shard *shard, struct peer *peer, int32_t result) {
    assert(peer->connection.shipment); // one send at a time
    struct parcel_list done;
    parcel_list_init(&done);
    enum sending sending = connection_sent(&peer->connection, shard->io, &shard->sender, result, &done);
    release_all(shard, &done);
    PROBE(sent, peer->name, result, peer->connection.outbox.bytes);
    peer_took(shard, peer);
    if (result > 0)
        stats_add(&shard->stats, COUNT_BYTES_SENT, (uint64_t)result);
    if (sending == SENDING_FAILED) {
        peer_close(shard, peer, COUNTERS_COUNT);
    } else if (sending == SENDING_IDLE) {
        tell_when_emptied(shard, peer);
        if (!outbox_empty(&peer->connection.outbox))
            look_after(shard, peer);
        peer_settle(shard, peer);
    }
}
