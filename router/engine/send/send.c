#include "router/engine/send/send.h"

#include <assert.h>
#include <string.h>

#include "core/base/text.h"
#include "core/send/envelope.h"
#include "router/engine/send/slow_reader.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/feature_call.h"
#include "router/engine/shard/identity.h"
#include "router/engine/shard/post.h"
#include "router/engine/shard/probe.h"

// Sends a parcel home. A small one can wait; the memory of a large one may be wanted.
static void send_return(struct shard *shard, struct parcel *parcel) {
    assert(parcel->pool->shard != shard->index);
    struct mailbox *mailbox = hub_mailbox(shard->hub, shard->index, parcel->pool->shard);
    parcel->mail.kind = MAIL_RETURN;
    if (parcel->bytes <= COPY_BYTES_MAX && shard->phase == HUB_SERVING)
        mailbox_post_idle(mailbox, &parcel->mail);
    else
        mailbox_post(mailbox, &parcel->mail);
}

void send_release(struct shard *shard, struct parcel *parcel) {
    assert(shard->magic == SHARD_MAGIC && !parcel->link); // the parcel is in no queue
    if (parcel->shares) {
        parcel->shares--;
        return;
    }
    if (parcel->pool == &shard->parcels) {
        struct parcel *original = parcel_drop(parcel);
        if (original)
            send_release(shard, original);
        return;
    }
    send_return(shard, parcel);
}

// A part of --max-queue: behind so much waits a peer that doesn't read, or not as fast as others send.
enum { DEEP_PART = 16, DETACH_BYTES_MAX = RECEIVE_BUFFER_BYTES / 4 };

static struct parcel *detach_up_to(struct shard *shard, struct parcel *parcel, size_t bytes_max) {
    assert(parcel->hole_count == 0 && parcel->shares == 0);
    assert(bytes_max >= COPY_BYTES_MAX && !parcel->link);
    if (parcel->bytes > bytes_max || !(parcel->buffer || parcel->shared_from))
        return parcel;
    struct parcel *copy = parcel_copy_of(&shard->parcels, parcel);
    if (!copy)
        return parcel;
    send_release(shard, parcel);
    return copy;
}

struct parcel *send_detach(struct shard *shard, struct parcel *parcel) {
    return detach_up_to(shard, parcel, COPY_BYTES_MAX);
}

// The parcels of one exchange are its members' answers and what stands around them.
static_assert(OUTBOX_COUNT_MAX - OUTBOX_OVER_FROM > 8 * BATCH_MEMBERS_MAX,
              "one look at the count is enough for all parcels of a frame");

// Detaches a parcel that waits for the peer. With a long queue a larger parcel is copied, too: it may be the last one
// in its receive buffer, which would stay in use as long as the peer doesn't read. A parcel with an original is shared
// and isn't copied.
static struct parcel *detach_waiting(struct shard *shard, const struct peer *peer, struct parcel *parcel) {
    assert(parcel->is_encoded && peer->connection.outbox.count < OUTBOX_COUNT_MAX);
    bool is_deep = !parcel->shared_from && outbox_footprint(&peer->connection.outbox) >
                                               shard_limits(shard)->queue_bytes_max / DEEP_PART;
    return detach_up_to(shard, parcel, is_deep ? DETACH_BYTES_MAX : COPY_BYTES_MAX);
}

// Lists a peer for sending. Events to many wait until their part of a turn comes; a parcel for this peer
// alone takes them along.
static void list_for_sending(struct shard *shard, struct peer *peer, bool in_fanout) {
    if (!list_empty(&peer->to_send) && (in_fanout || !peer->in_fanout))
        return;
    list_remove(&peer->to_send);
    peer->in_fanout = in_fanout;
    list_append(in_fanout ? &shard->fanout_sends.waiting : &shard->to_send, &peer->to_send);
}

static void enqueue(struct shard *shard, struct peer *peer, struct parcel *parcel, bool process_only) {
    assert(connection_shard(peer->connection_id) == shard->index);
    assert(parcel->hole_count == 0 && parcel->shares == 0 && !parcel->link);
    if (peer_is_unreachable(peer)) {
        drop_several(shard, COUNT_DROP_TARGET_GONE, peer->connection_id, parcel->bytes, parcel->frames);
        send_release(shard, parcel);
        return;
    }
    if (peer->transport->ops.divert && peer->transport->ops.divert(shard, peer, parcel))
        return;
    if (!parcel->is_encoded)
        parcel_encode(parcel, peer->transport->codec.wire);
    if (peer->connection.send_op || peer->connection.paused)
        parcel = detach_waiting(shard, peer, parcel);
    parcel->process_only = process_only;
    outbox_add(&peer->connection.outbox, parcel);
    PROBE(queue, peer->connection_id, parcel->bytes, peer->connection.outbox.bytes);
    list_for_sending(shard, peer, parcel->for_many);
    queue_limit_confine(shard, peer);
}

bool send_pack(struct shard *shard, struct peer *peer, const struct frame *frame, struct span value,
               struct piece text, uint64_t hub_id, const struct pack_envelope *envelope) {
    struct outbox *outbox = &peer->connection.outbox;
    size_t before = outbox->bytes;
    assert(connection_shard(peer->connection_id) == shard->index && send_may_pack(shard, peer));
    if (!outbox_pack(outbox, &shard->parcels, &shard->buffers, frame, value, text, hub_id, envelope))
        return false;
    PROBE(queue, peer->connection_id, outbox->bytes - before, outbox->bytes);
    list_for_sending(shard, peer, false);
    queue_limit_confine(shard, peer);
    return true;
}

void send_queue(struct shard *shard, struct peer *peer, struct parcel *parcel) {
    queue_limit_close(shard, peer, peer->exchange_bytes);
    enqueue(shard, peer, parcel, false);
}

void send_queue_this_process(struct shard *shard, struct peer *peer, struct parcel *parcel) {
    queue_limit_close(shard, peer, peer->exchange_bytes);
    enqueue(shard, peer, parcel, true);
}

void send_queue_required(struct shard *shard, struct peer *peer, struct parcel *parcel) {
    assert(!parcel->hub_id); // a request could be refused
    bool over = queue_limit_is_past_grace(shard, peer);
    queue_limit_close(shard, peer, peer->exchange_bytes);
    enqueue(shard, peer, parcel, true);
    if (over)
        slow_reader_watch(shard, peer);
}

void send_queue_chain(struct shard *shard, struct peer *peer, struct parcel_list *frame) {
    assert(frame->first && frame->first->is_encoded);
    bool over = queue_limit_is_past_grace(shard, peer);
    queue_limit_close(shard, peer, peer->exchange_bytes);
    for (struct parcel *parcel; (parcel = parcel_list_take(frame));)
        enqueue(shard, peer, parcel, true);
    if (over)
        slow_reader_watch(shard, peer);
}

void send_queue_row(struct shard *shard, struct peer *peer, struct parcel_list *frame) {
    const struct connection *connection = &peer->connection;
    queue_limit_close(shard, peer, peer->exchange_bytes);
    if (peer_is_unreachable(peer) || connection->send_op || connection->paused || connection->outbox.index) {
        send_queue_chain(shard, peer, frame);
        return;
    }
    bool over = queue_limit_is_past_grace(shard, peer);
    uint32_t count = 0;
    size_t bytes = 0;
    for (struct parcel *parcel = frame->first; parcel; parcel = parcel->next, count++) {
        assert(parcel->is_encoded && parcel->lane == LANE_NORMAL && !parcel->for_many);
        parcel->process_only = true;
        bytes += parcel->bytes;
        PROBE(queue, peer->connection_id, parcel->bytes, connection->outbox.bytes + bytes);
    }
    outbox_add_several(&peer->connection.outbox, frame, count, bytes);
    list_for_sending(shard, peer, false);
    queue_limit_confine(shard, peer);
    if (over)
        slow_reader_watch(shard, peer);
}

// --- Events that were missed

// Makes the notification hub/dropped. `count` 0: the number of lost events isn't known. Returns NULL without memory.
static struct parcel *missed_notice(struct shard *shard, uint32_t count) {
    struct text text;
    assert(shard->magic == SHARD_MAGIC);
    text_init(&text);
    text_put(&text, "{\"jsonrpc\":\"2.0\",\"method\":\"hub/dropped\",\"params\":{\"count\":");
    text_number(&text, count);
    text_put(&text, count ? "}}" : ",\"unknown\":true}}");
    struct parcel *parcel = text.failed ? NULL : parcel_from_text(&shard->parcels, text.bytes, text.length);
    if (!parcel)
        text_deinit(&text);
    return parcel;
}

static bool report_missed(struct shard *shard, struct peer *peer, uint8_t lane) {
    assert(!peer_is_unreachable(peer) && lane < LANES_COUNT);
    struct parcel *notice = missed_notice(shard, peer->missed);
    const char *head = peer->transport->codec.missed_head;
    if (!notice)
        return false;
    if (head)
        parcel_set_head(notice, head, strlen(head)); // fits into the parcel without memory
    notice->lane = lane;
    peer->missed = 0;
    send_queue(shard, peer, notice);
    return true;
}

// Queues the notice also if the queue is full: such a notice is small, and seldom.
void send_missed_unknown(struct shard *shard, struct peer *peer) {
    const char *head = peer->transport->codec.missed_head;
    struct parcel *notice = peer_is_unreachable(peer) ? NULL : missed_notice(shard, 0);
    if (!notice)
        return;
    if (head)
        parcel_set_head(notice, head, strlen(head));
    send_queue_this_process(shard, peer, notice);
}

bool send_event(struct shard *shard, struct peer *peer, struct parcel *parcel) {
    assert(!parcel->hub_id && queue_limit_has_room(shard, peer));
    if (peer->missed && !peer_is_unreachable(peer) && !report_missed(shard, peer, parcel->lane))
        return false;
    send_queue(shard, peer, parcel);
    return true;
}

void send_missed_before_end(struct shard *shard, struct peer *peer) {
    if (peer->missed && !peer_is_unreachable(peer))
        report_missed(shard, peer, LANE_NORMAL);
}

void send_soon(struct shard *shard, struct peer *peer) {
    // A peer whose end isn't carried out yet may still get here.
    assert(peer->state != PEER_CLOSING || peer->ending);
    const struct parcel *first = outbox_first(&peer->connection.outbox);
    list_for_sending(shard, peer, first && first->for_many);
}

void send_missed(struct shard *shard, struct peer *peer, uint32_t count) {
    assert(count > 0);
    peer->missed += count;
    send_soon(shard, peer);
}

// Tells the peer which events it has missed, once its queue is empty. No later event may come that would tell the peer.
static void report_when_emptied(struct shard *shard, struct peer *peer) {
    bool emptied =
        !peer->connection.paused && !peer->connection.send_op && outbox_empty(&peer->connection.outbox);
    if (peer->missed && emptied && !peer_is_unreachable(peer) && !report_missed(shard, peer, LANE_NORMAL))
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
}

// --- Sending

static void note_sent(struct shard *shard, const struct peer *peer, const struct parcel_list *done) {
    assert(connection_shard(peer->connection_id) == shard->index);
    for (const struct parcel *parcel = done->first; parcel; parcel = parcel->next)
        if (parcel->observed)
            feature_parcel_sent(shard, peer, parcel);
}

static void release_all(struct shard *shard, const struct peer *peer, struct parcel_list *done) {
    if (__builtin_expect(shard->features->parcel_sent[0] != NULL, false))
        note_sent(shard, peer, done);
    for (struct parcel *parcel; (parcel = parcel_list_take(done));)
        send_release(shard, parcel);
}

// The queue of a peer before a send.
struct waits {
    size_t bytes;
    uint32_t count;
    uint32_t came_us; // when the first parcel was queued
};

static struct waits waits_of(const struct peer *peer) {
    const struct outbox *outbox = &peer->connection.outbox;
    const struct parcel *first = outbox_first(outbox);
    assert(!first == outbox_empty(outbox));
    return (struct waits){outbox->bytes, outbox->count, first ? first->mail.came_us : 0};
}

static void count_send(struct shard *shard, const struct peer *peer, const struct waits *waited) {
    uint32_t sent = waited->count - peer->connection.outbox.count, us = shard->sending_us - waited->came_us;
    assert(sent > 0 || peer->connection.secure);
    stats_count(&shard->stats, COUNT_SENDS);
    if (sent == 0) // of a handshake alone
        return;
    log_histogram_record(&shard->stats.latency, us > INT32_MAX ? 0 : us, sent);
    log_histogram_record(&shard->stats.depth, waited->bytes, 1);
}

// Notes that a send has begun. From now on the peer is idle if it doesn't read, also after it has half-closed.
static void begun(struct shard *shard, struct peer *peer) {
    assert(peer->connection.send_op);
    peer->sending_ms = peer->connection.send_op->since_ms = shard_tick(shard);
    peer->probed = false;
    if (peer->state == PEER_ENDED)
        peer_timer_restart(shard, peer);
}

// Sends what waits for a peer, unless a send is under way. A peer without anything to send may end now.
static void send_waiting(struct shard *shard, struct peer *peer) {
    bool was_free = !peer->connection.send_op;
    struct waits waited = waits_of(peer);
    struct parcel_list done;
    parcel_list_init(&done);
    enum sending sending = connection_send(&peer->connection, shard->io, &shard->sender, &done);
    release_all(shard, peer, &done);
    if (sending == SENDING_FAILED) {
        peer_close(shard, peer, COUNTER_NONE);
    } else if (sending == SENDING_BUSY && was_free) {
        begun(shard, peer);
        PROBE(send, peer->connection_id, peer->connection.send_op->bytes, peer->connection.send_op->count);
        count_send(shard, peer, &waited);
    } else if (sending == SENDING_IDLE) { // the queue was emptied by cancels
        assert(outbox_empty(&peer->connection.outbox));
        peer_settle(shard, peer);
    }
}

// Serves a peer that was listed for sending: a paused one is told that something waits, any other is sent its queue.
static void flush(struct shard *shard, struct peer *peer) {
    assert(list_empty(&peer->to_send));
    assert(peer->state != PEER_CLOSING || peer->ending); // its end isn't carried out yet
    if (peer->connection.paused) {
        peer->transport->ops.wanted(shard, peer);
        return;
    }
    if (peer->state != PEER_CLOSING)
        report_when_emptied(shard, peer); // closes the peer if there is no memory
    if (peer->state != PEER_CLOSING)
        send_waiting(shard, peer);
}

// Returns whether the pass ends here: all peers that waited when the pass began have been sent to.
static bool ends_pass(struct shard *shard, const struct list *node) {
    if (node != &shard->fanout_sends.marker)
        return false;
    shard->fanout_sends.passes++;
    if (!list_empty(&shard->fanout_sends.waiting))
        list_append(&shard->fanout_sends.waiting, &shard->fanout_sends.marker);
    return true;
}

// Leaves a round: sends that are still under way aren't waited for any more. A number comes again only when
// no send bears it.
static void leave_round(struct shard *shard) {
    struct fanout_sends *fanout_sends = &shard->fanout_sends;
    fanout_sends->out = 0;
    if (++fanout_sends->round <= FANOUT_ROUNDS_MAX)
        return;
    fanout_sends->round = 1;
    for (uint32_t slot = 0; slot < shard->peers.capacity; slot++)
        if (shard->peers.slots[slot])
            shard->peers.slots[slot]->fanout_round = 0;
}

// Returns whether another send of a fan-out may begin. A receiver that takes a send soon makes room for the next one.
// The hub doesn't wait for a slower receiver.
static bool has_window(struct shard *shard) {
    struct fanout_sends *fanout_sends = &shard->fanout_sends;
    uint64_t now_ns = io_now(shard->io);
    bool is_late = now_ns - fanout_sends->since_ns >= shard->bounds.fanout_wait_ns;
    if (fanout_sends->out > 0 && is_late)
        leave_round(shard);
    if (fanout_sends->out == 0)
        fanout_sends->since_ns = now_ns;
    return fanout_sends->out < shard->bounds.fanout_sends_max;
}

// Begins the send to one peer of a pass. Returns the bytes that waited for the peer; 0: no send was begun.
static size_t begin_fanout_send(struct shard *shard, struct peer *peer) {
    size_t waited = peer->connection.outbox.bytes;
    bool was_free = !peer->connection.send_op;
    assert(peer->in_fanout);
    flush(shard, peer);
    if (!was_free || !peer->connection.send_op)
        return 0;
    assert(!peer->fanout_round);
    peer->fanout_round = shard->fanout_sends.round & FANOUT_ROUNDS_MAX;
    shard->fanout_sends.out++;
    return waited;
}

// Begins sends of events to many, up to the bounds of a turn. A kernel that is short of room defers sends, and resumes
// some of them at each entry (Linux 6.13: 20), while arrivals wait. So the number of these sends is bounded, and the
// bytes of a turn.
static void begin_fanout_sends(struct shard *shard) {
    struct fanout_sends *fanout_sends = &shard->fanout_sends;
    size_t bytes = 0;
    if (list_empty(&fanout_sends->waiting) || !has_window(shard))
        return;
    if (list_empty(&fanout_sends->marker))
        list_append(&fanout_sends->waiting, &fanout_sends->marker);
    while (fanout_sends->out < shard->bounds.fanout_sends_max && bytes < shard->bounds.fanout_bytes_max) {
        struct list *node = list_take(&fanout_sends->waiting);
        if (!node)
            return;
        if (!ends_pass(shard, node))
            bytes += begin_fanout_send(shard, list_entry(node, struct peer, to_send));
    }
}

// Notes the end of a send of events to many, however it ended.
static void note_fanout_sent(struct shard *shard, struct peer *peer) {
    if (!peer->fanout_round || peer->connection.send_op)
        return;
    if (peer->fanout_round == shard->fanout_sends.round) {
        assert(shard->fanout_sends.out > 0);
        shard->fanout_sends.out--;
    }
    peer->fanout_round = 0;
}

uint64_t send_goes_on_ns(const struct shard *shard) {
    const struct fanout_sends *fanout_sends = &shard->fanout_sends;
    if (list_empty(&fanout_sends->waiting))
        return UINT64_MAX;
    return fanout_sends->out < shard->bounds.fanout_sends_max
               ? 0
               : fanout_sends->since_ns + shard->bounds.fanout_wait_ns;
}

void send_flush_all(struct shard *shard) {
    assert(shard->magic == SHARD_MAGIC);
    if (list_empty(&shard->to_send) && list_empty(&shard->fanout_sends.waiting))
        return;
    shard->sending_us = shard_us(io_clock(shard->io));
    for (struct list *node; (node = list_take(&shard->to_send));)
        flush(shard, list_entry(node, struct peer, to_send));
    begin_fanout_sends(shard);
}

void send_sent(struct shard *shard, struct peer *peer, int32_t result) {
    assert(peer->connection.send_op); // one send at a time
    struct parcel_list done;
    parcel_list_init(&done);
    enum sending sending = connection_sent(&peer->connection, shard->io, &shard->sender, result, &done);
    release_all(shard, peer, &done);
    note_fanout_sent(shard, peer);
    PROBE(sent, peer->connection_id, result, peer->connection.outbox.bytes);
    peer_took(shard, peer);
    if (result > 0 && peer->connection.send_op)
        peer->connection.send_op->since_ms = shard_tick(shard);
    if (peer->cold)
        feature_peer_read(shard, peer);
    if (result > 0) {
        stats_add(&shard->stats, COUNT_BYTES_SENT, (uint64_t)result);
        slow_reader_count_sent(peer, (uint32_t)result);
    }
    if (sending == SENDING_FAILED) {
        peer_close(shard, peer, COUNTER_NONE);
    } else if (sending == SENDING_IDLE) {
        report_when_emptied(shard, peer);
        if (!outbox_empty(&peer->connection.outbox))
            send_soon(shard, peer);
        peer_settle(shard, peer);
    }
}
