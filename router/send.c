#include "router/send.h"

#include "router/mail.h"
#include "router/probe.h"

bool send_has_room(const struct shard *shard, const struct peer *peer) {
    return peer->connection.outbox.bytes < shard_limits(shard)->queue_bytes_max;
}

void send_release(struct shard *shard, struct parcel *parcel) {
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
    parcel->mail.kind = MAIL_RETURN;
    mailbox_post(hub_mailbox(shard->hub, shard->index, parcel->pool->shard), &parcel->mail);
}

struct parcel *send_detach(struct shard *shard, struct parcel *parcel) {
    if (parcel->bytes > COPY_BYTES_MAX || !(parcel->buffer || parcel->origin))
        return parcel;
    struct parcel *copy = parcel_copy_of(&shard->parcels, parcel);
    if (!copy)
        return parcel;
    send_release(shard, parcel);
    return copy;
}

void send_queue(struct shard *shard, struct peer *peer, struct parcel *parcel) {
    if (peer->state == PEER_CLOSING || peer->shut || peer->connection.broken) {
        stats_count(&shard->stats, COUNT_DROP_TARGET_GONE);
        send_release(shard, parcel);
        return;
    }
    if (peer->connection.shipment)
        parcel = send_detach(shard, parcel);
    outbox_add(&peer->connection.outbox, parcel);
    PROBE(queue, peer->name, parcel->bytes, peer->connection.outbox.bytes);
    if (list_empty(&peer->to_send))
        list_append(&shard->to_send, &peer->to_send);
}

static bool is_past_grace(const struct shard *shard, const struct peer *peer) {
    return peer->connection.outbox.bytes >= 2 * shard_limits(shard)->queue_bytes_max;
}

void send_queue_owed(struct shard *shard, struct peer *peer, struct parcel *parcel) {
    bool over = is_past_grace(shard, peer);
    send_queue(shard, peer, parcel);
    if (over)
        peer_close(shard, peer, COUNT_CLOSED_SLOW_READER);
}

void send_queue_chain(struct shard *shard, struct peer *peer, struct parcel_list *frame) {
    bool over = is_past_grace(shard, peer);
    for (struct parcel *parcel; (parcel = parcel_list_take(frame));)
        send_queue(shard, peer, parcel);
    if (over)
        peer_close(shard, peer, COUNT_CLOSED_SLOW_READER);
}

static void release_all(struct shard *shard, struct parcel_list *done) {
    for (struct parcel *parcel; (parcel = parcel_list_take(done));)
        send_release(shard, parcel);
}

void send_flush(struct shard *shard, struct peer *peer) {
    struct parcel_list done;
    parcel_list_init(&done);
    bool was_free = !peer->connection.shipment;
    enum sending sending = connection_send(&peer->connection, shard->io, &shard->sender, &done);
    release_all(shard, &done);
    if (sending == SENDING_FAILED) {
        peer_close(shard, peer, COUNTERS_COUNT);
    } else if (sending == SENDING_BUSY && was_free) {
        PROBE(send, peer->name, peer->connection.shipment->bytes, peer->connection.shipment->count);
        stats_count(&shard->stats, COUNT_SENDS);
    }
}

void send_flush_all(struct shard *shard) {
    for (struct list *node; (node = list_take(&shard->to_send));)
        send_flush(shard, list_entry(node, struct peer, to_send));
}

void send_sent(struct shard *shard, struct peer *peer, int32_t result) {
    struct parcel_list done;
    parcel_list_init(&done);
    enum sending sending = connection_sent(&peer->connection, shard->io, &shard->sender, result, &done);
    release_all(shard, &done);
    PROBE(sent, peer->name, result, peer->connection.outbox.bytes);
    if (result > 0)
        stats_add(&shard->stats, COUNT_BYTES_SENT, (uint64_t)result);
    if (sending == SENDING_FAILED) {
        peer_close(shard, peer, COUNTERS_COUNT);
    } else if (sending == SENDING_IDLE) {
        if (!outbox_empty(&peer->connection.outbox) && list_empty(&peer->to_send))
            list_append(&shard->to_send, &peer->to_send);
        peer_settle(shard, peer);
    }
}
