#include "router/peer.h"

#include <sys/socket.h>

#include "core/memory.h"
#include "router/answer.h"
#include "router/behind.h"
#include "router/drop.h"
#include "router/feed.h"
#include "router/registry.h"
#include "router/send.h"
#include "router/subscribe.h"

static uint32_t slot_of(uint64_t connection) {
    return connection_slot(connection);
}

// --- Slots

static bool grow(struct peer_slots *slots, uint32_t capacity) {
    struct peer **peers = memory_resize(slots->slots, capacity * sizeof(struct peer *));
    if (peers)
        slots->slots = peers;
    uint32_t *generations = memory_resize(slots->generations, capacity * sizeof *generations);
    if (generations)
        slots->generations = generations;
    uint32_t *free = memory_resize(slots->free, capacity * sizeof *free);
    if (free)
        slots->free = free;
    if (!peers || !generations || !free)
        return false;
    for (uint32_t slot = capacity; slot-- > slots->capacity;) {
        slots->slots[slot] = NULL;
        slots->generations[slot] = 1;
        slots->free[slots->free_count++] = slot;
    }
    slots->capacity = capacity;
    return true;
}

// A free slot, or UINT32_MAX at the limit of connections or when memory is used up.
static uint32_t slot_take(struct shard *shard) {
    struct peer_slots *slots = &shard->peers;
    uint32_t max = shard_limits(shard)->connections_max;
    if (slots->free_count == 0) {
        uint32_t capacity = slots->capacity ? slots->capacity * 2 : 64;
        if (slots->capacity >= max || !grow(slots, capacity < max ? capacity : max))
            return UINT32_MAX;
    }
    slots->count++;
    return slots->free[--slots->free_count];
}

static void slot_give(struct shard *shard, uint32_t slot) {
    struct peer_slots *slots = &shard->peers;
    slots->slots[slot] = NULL;
    slots->generations[slot]++;
    slots->free[slots->free_count++] = slot;
    slots->count--;
    atomic_fetch_sub_explicit(&shard->hub->connections[shard->index], 1, memory_order_relaxed);
}

struct peer *peer_find(const struct shard *shard, uint64_t connection) {
    uint32_t slot = slot_of(connection);
    if (slot >= shard->peers.capacity)
        return NULL;
    struct peer *peer = shard->peers.slots[slot];
    return peer && peer->name == connection && peer->state != PEER_CLOSING ? peer : NULL;
}

// --- Opening

static void refuse(struct shard *shard, int socket) {
    stats_count(&shard->stats, COUNT_CONNECTIONS_REFUSED);
    atomic_fetch_sub_explicit(&shard->hub->connections[shard->index], 1, memory_order_relaxed);
    io_close_socket(shard->io, socket);
}

static void peer_init(struct shard *shard, struct peer *peer, uint32_t slot, int socket) {
    connection_open(&peer->connection, socket, slot);
    peer->name = hub_connection(shard->index, slot, shard->peers.generations[slot]);
    peer->heard_ms = shard_now_ms(shard);
    timer_init(&peer->timer, TIMER_PEER);
    asked_init(&peer->asked);
    subscriber_init(&peer->subscriber);
    list_init(&peer->to_send);
    list_init(&peer->starved);
    list_init(&peer->standing);
}

void peer_open(struct shard *shard, int socket) {
    struct peer *peer = shard->phase == HUB_SERVING ? memory_take_zeroed(1, sizeof *peer) : NULL;
    uint32_t slot = peer ? slot_take(shard) : UINT32_MAX;
    if (slot == UINT32_MAX) {
        memory_give(peer);
        refuse(shard, socket);
        return;
    }
    peer_init(shard, peer, slot, socket);
    shard->peers.slots[slot] = peer;
    stats_count(&shard->stats, COUNT_CONNECTIONS_OPENED);
    peer_watch(shard, peer);
    connection_receive(&peer->connection, shard->io);
}

// --- Ending

static void leave(struct shard *shard, struct peer *peer) {
    subscribe_leave(shard, peer);
    registry_leave(shard, peer);
}

static bool all_sent(const struct peer *peer) {
    return outbox_empty(&peer->connection.outbox) && !peer->connection.shipment &&
           (peer->batches == 0 || peer->silenced);
}

void peer_ended(struct shard *shard, struct peer *peer) {
    if (peer->state == PEER_LINGERING && peer->shut) { // else peer_settle closes, once all is sent
        peer_close(shard, peer, COUNTERS_COUNT);
        return;
    }
    if (peer->state != PEER_OPEN)
        return;
    peer->state = PEER_ENDED;
    peer_watch(shard, peer);
    leave(shard, peer);
    peer_settle(shard, peer);
}

// Nobody is left to be answered.
void peer_watched(struct shard *shard, struct peer *peer, const struct io_event *event) {
    if (connection_watched(&peer->connection, shard->io, event))
        peer_close(shard, peer, COUNTERS_COUNT);
}

static void give_a_second(struct shard *shard, struct peer *peer) {
    if (!timer_armed(&peer->timer))
        wheel_arm(&shard->wheel, &peer->timer, shard_now_ms(shard) + LINGER_MS);
}

void peer_linger(struct shard *shard, struct peer *peer) {
    if (peer->state == PEER_CLOSING)
        return;
    bool lingers = peer->state == PEER_LINGERING;
    if (!lingers)
        wheel_disarm(&peer->timer);
    if (shard->phase != HUB_SERVING && shard->phase != HUB_DRAINING)
        give_a_second(shard, peer);
    if (lingers)
        return;
    peer->state = PEER_LINGERING;
    answer_abandon_all(shard, peer);
    leave(shard, peer);
    peer_settle(shard, peer);
    if (!peer->shut)
        behind_watch(shard, peer);
}

void peer_settle(struct shard *shard, struct peer *peer) {
    if (peer->state == PEER_ENDED && list_empty(&peer->asked.requests) && peer->awaited == 0 &&
        all_sent(peer))
        peer_close(shard, peer, COUNTERS_COUNT);
    if (peer->state == PEER_LINGERING && !peer->shut && all_sent(peer)) {
        peer->shut = true;
        give_a_second(shard, peer);
        io_shutdown(shard->io, peer->connection.socket, SHUT_WR);
        if (peer->connection.ended)
            peer_close(shard, peer, COUNTERS_COUNT);
    }
}

void peer_close(struct shard *shard, struct peer *peer, int counter) {
    if (peer->state == PEER_CLOSING)
        return;
    peer->state = PEER_CLOSING;
    if (counter != COUNTERS_COUNT)
        stats_count(&shard->stats, (enum counter)counter);
    wheel_disarm(&peer->timer);
    list_remove(&peer->to_send);
    list_remove(&peer->starved);
    for (struct parcel *parcel; (parcel = outbox_take(&peer->connection.outbox));) {
        drop_several(shard, COUNT_DROP_TARGET_GONE, peer->name, parcel->bytes, parcel->frames);
        send_release(shard, parcel);
    }
    connection_end(&peer->connection, shard->io);
    list_remove(&peer->standing);
    list_append(&shard->closing, &peer->standing);
    answer_abandon_all(shard, peer);
    leave(shard, peer);
}

void peers_reap(struct shard *shard) {
    for (struct list *node = shard->closing.next, *next; node != &shard->closing; node = next) {
        next = node->next;
        struct peer *peer = list_entry(node, struct peer, standing);
        if (!connection_at_rest(&peer->connection))
            continue;
        list_remove(&peer->standing);
        io_close_socket(shard->io, peer->connection.socket);
        buffer_drop(peer->partial);
        asked_deinit(&peer->asked, &shard->kept);
        stats_count(&shard->stats, COUNT_CONNECTIONS_CLOSED);
        slot_give(shard, slot_of(peer->name));
        memory_give(peer);
    }
}

// --- Time

// When it last sent something, or took something of what is sent to it.
static uint64_t active_ms(const struct peer *peer) {
    return peer->heard_ms > peer->sending_ms ? peer->heard_ms : peer->sending_ms;
}

// When it will have taken too long, unless something comes before; UINT64_MAX: never. One that has
// half-closed can't send, so it is idle only while something waits that it doesn't take: not while it waits
// for an answer.
static uint64_t due_ms(const struct shard *shard, const struct peer *peer) {
    const struct limits *limits = shard_limits(shard);
    bool open = peer->state == PEER_OPEN;
    if (open && peer->partial)
        return peer->checked_ms + limits->frame_timeout_ns / 1000000;
    bool may_idle = limits->idle_timeout_ns == 0 || !(open || peer->connection.shipment);
    return may_idle ? UINT64_MAX : active_ms(peer) + limits->idle_timeout_ns / 1000000;
}

static void arm(struct shard *shard, struct peer *peer) {
    if (peer->state != PEER_OPEN && peer->state != PEER_ENDED)
        return;
    uint64_t at_ms = due_ms(shard, peer);
    if (at_ms == UINT64_MAX)
        wheel_disarm(&peer->timer);
    else
        wheel_arm(&shard->wheel, &peer->timer, at_ms);
}

void peer_watch(struct shard *shard, struct peer *peer) {
    peer->partial_checked = peer->partial_bytes;
    peer->checked_ms = shard_now_ms(shard);
    arm(shard, peer);
}

void peers_rewatch(struct shard *shard) {
    for (uint32_t slot = 0; slot < shard->peers.capacity; slot++)
        if (shard->peers.slots[slot])
            arm(shard, shard->peers.slots[slot]);
}

// A body that goes on arriving at 1 KiB a second or more may take as long as it likes.
static bool arrives(const struct shard *shard, const struct peer *peer) {
    uint64_t window_ms = shard_limits(shard)->frame_timeout_ns / 1000000;
    uint64_t arrived = peer->partial_bytes - peer->partial_checked;
    return peer->scan.header_bytes && arrived * 1000 >= window_ms * 1024;
}

void peer_timer(struct shard *shard, struct peer *peer) {
    bool partial = peer->state == PEER_OPEN && peer->partial;
    if (peer->state == PEER_LINGERING)
        peer_close(shard, peer, COUNTERS_COUNT);
    else if (partial && !arrives(shard, peer) && peer_lacks_room(peer))
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
    else if (partial && !arrives(shard, peer))
        feed_cut_off(shard, peer);
    else if (partial)
        peer_watch(shard, peer);
    else if (due_ms(shard, peer) <= shard_now_ms(shard))
        peer_close(shard, peer, COUNT_CLOSED_IDLE);
    else
        arm(shard, peer);
}
