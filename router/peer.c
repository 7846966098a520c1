#include "router/peer.h"

#include <sys/socket.h>

#include "core/memory.h"
#include "router/answer.h"
#include "router/drop.h"
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
    list_init(&peer->closing);
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
    return outbox_empty(&peer->connection.outbox) && !peer->connection.shipment && peer->batches == 0;
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

void peer_linger(struct shard *shard, struct peer *peer) {
    if (peer->state == PEER_LINGERING || peer->state == PEER_CLOSING)
        return;
    peer->state = PEER_LINGERING;
    wheel_arm(&shard->wheel, &peer->timer, shard_now_ms(shard) + LINGER_MS);
    answer_abandon_all(shard, peer);
    leave(shard, peer);
    peer_settle(shard, peer);
}

void peer_settle(struct shard *shard, struct peer *peer) {
    if (peer->state == PEER_ENDED && list_empty(&peer->asked.requests) && peer->awaited == 0 &&
        all_sent(peer))
        peer_close(shard, peer, COUNTERS_COUNT);
    if (peer->state == PEER_LINGERING && !peer->shut && all_sent(peer)) {
        peer->shut = true;
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
    list_append(&shard->closing, &peer->closing);
    answer_abandon_all(shard, peer);
    leave(shard, peer);
}

void peers_reap(struct shard *shard) {
    for (struct list *node = shard->closing.next, *next; node != &shard->closing; node = next) {
        next = node->next;
        struct peer *peer = list_entry(node, struct peer, closing);
        if (!connection_at_rest(&peer->connection))
            continue;
        list_remove(&peer->closing);
        io_close_socket(shard->io, peer->connection.socket);
        buffer_drop(peer->partial);
        asked_deinit(&peer->asked, &shard->kept);
        stats_count(&shard->stats, COUNT_CONNECTIONS_CLOSED);
        slot_give(shard, slot_of(peer->name));
        memory_give(peer);
    }
}

// --- Time

void peer_watch(struct shard *shard, struct peer *peer) {
    const struct limits *limits = shard_limits(shard);
    uint64_t wait_ns = peer->partial ? limits->frame_timeout_ns : limits->idle_timeout_ns;
    if (peer->state != PEER_OPEN || wait_ns == 0) {
        if (peer->state == PEER_OPEN || peer->state == PEER_ENDED)
            wheel_disarm(&peer->timer);
        return;
    }
    peer->partial_checked = peer->partial_bytes;
    wheel_arm(&shard->wheel, &peer->timer, shard_now_ms(shard) + wait_ns / 1000000);
}

// A body that goes on arriving at 1 KiB a second or more may take as long as it likes.
static bool arrives(const struct shard *shard, const struct peer *peer) {
    uint64_t window_ms = shard_limits(shard)->frame_timeout_ns / 1000000;
    uint64_t arrived = peer->partial_bytes - peer->partial_checked;
    return peer->scan.header_bytes && arrived * 1000 >= window_ms * 1024;
}

void peer_timer(struct shard *shard, struct peer *peer) {
    uint64_t idle_ms = shard_limits(shard)->idle_timeout_ns / 1000000;
    if (peer->state == PEER_LINGERING)
        peer_close(shard, peer, COUNTERS_COUNT);
    else if (peer->partial && !arrives(shard, peer))
        peer_close(shard, peer, peer_lacks_room(peer) ? COUNT_CLOSED_NO_MEMORY : COUNT_CLOSED_SLOW_SENDER);
    else if (!peer->partial && shard_now_ms(shard) - peer->heard_ms >= idle_ms)
        peer_close(shard, peer, COUNT_CLOSED_IDLE);
    else if (!peer->partial)
        wheel_arm(&shard->wheel, &peer->timer, peer->heard_ms + idle_ms);
    else
        peer_watch(shard, peer);
}
