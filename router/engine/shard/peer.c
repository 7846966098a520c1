#include "router/engine/shard/peer.h"

#include <assert.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/memory.h"
#include "io/log.h"
#include "router/engine/shard/credential.h"
#include "router/engine/shard/feature_call.h"
#include "router/engine/shard/peer_cold.h"

// --- Slots

static bool peer_grow(struct peer_slots *slots, uint32_t capacity) {
    assert(capacity > slots->capacity && slots->free_count == 0);
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

// Returns a free slot, or UINT32_MAX at the limit of connections or without memory.
static uint32_t slot_take(struct shard *shard) {
    struct peer_slots *slots = &shard->peers;
    uint32_t max = shard_limits(shard)->connections_max;
    assert(slots->count + slots->free_count == slots->capacity);
    if (slots->free_count == 0) {
        uint32_t capacity = slots->capacity ? slots->capacity * 2 : 64;
        if (slots->capacity >= max || !peer_grow(slots, capacity < max ? capacity : max))
            return UINT32_MAX;
    }
    slots->count++;
    return slots->free[--slots->free_count];
}

static void slot_give(struct shard *shard, uint32_t slot) {
    struct peer_slots *slots = &shard->peers;
    assert(slot < slots->capacity && slots->slots[slot] && slots->count > 0);
    slots->slots[slot] = NULL;
    slots->generations[slot]++;
    slots->free[slots->free_count++] = slot;
    slots->count--;
    atomic_fetch_sub_explicit(&shard->hub->connections[shard->index], 1, memory_order_relaxed);
}

struct peer *peer_find(const struct shard *shard, uint64_t connection) {
    assert(shard->magic == SHARD_MAGIC);
    uint32_t slot = connection_slot(connection);
    if (slot >= shard->peers.capacity)
        return NULL;
    struct peer *peer = shard->peers.slots[slot];
    return peer && peer->connection_id == connection && peer->state != PEER_CLOSING ? peer : NULL;
}

// --- Opening

static void peer_refuse(struct shard *shard, int socket) {
    assert(socket >= 0);
    stats_count(&shard->stats, COUNT_CONNECTIONS_REFUSED);
    atomic_fetch_sub_explicit(&shard->hub->connections[shard->index], 1, memory_order_relaxed);
    io_close_socket(shard->io, socket);
}

static void peer_init(struct shard *shard, struct peer *peer, uint32_t slot, int socket) {
    assert(slot < shard->peers.capacity && !shard->peers.slots[slot]);
    connection_open(&peer->connection, socket, slot);
    peer->connection_id = connection_id_make(shard->index, slot, shard->peers.generations[slot]);
    peer->received_ms = peer->sending_ms = shard_tick(shard);
    timer_init(&peer->timer, TIMER_PEER);
    request_index_init(&peer->request_index);
    subscriber_init(&peer->subscriber, slot);
    list_init(&peer->to_send);
    list_init(&peer->by_receive_wait);
    list_init(&peer->by_lifecycle);
}

void peer_speaks(struct shard *shard, struct peer *peer, const struct transport *transport) {
    assert(transport->gauge < STATS_GAUGES_MAX);
    if (peer->transport)
        stats_move_gauge(&shard->stats, peer->transport->gauge, -1);
    stats_move_gauge(&shard->stats, transport->gauge, 1);
    peer->transport = transport;
}

// Prepares a new peer: its cold part and identity with a users file, its TLS keys, its transport. A peer with TLS gets
// the keys of the current settings. Returns false without memory.
static bool enters(struct shard *shard, struct peer *peer, bool secure) {
    assert(!secure || shard->settings->secure);
    bool known = !shard->settings->users ||
                 (peer_take_cold(shard, peer) && identity_take(shard, peer->cold, peer->connection.socket));
    return known &&
           (!secure || connection_secure(&peer->connection, shard->settings->secure, &shard->buffers)) &&
           (!peer->transport->ops.enter || peer->transport->ops.enter(shard, peer));
}

void peer_open(struct shard *shard, int socket, const struct transport *transport, bool secure) {
    assert(shard->magic == SHARD_MAGIC && transport && transport->codec.wire);
    bool taken_in = shard->phase == HUB_SERVING || (shard->phase == HUB_DRAINING && transport->serves_drain);
    struct peer *peer = taken_in ? memory_take_zeroed(1, sizeof *peer) : NULL;
    uint32_t slot = peer ? slot_take(shard) : UINT32_MAX;
    if (slot == UINT32_MAX) {
        memory_give(peer);
        peer_refuse(shard, socket);
        return;
    }
    peer_init(shard, peer, slot, socket);
    peer_speaks(shard, peer, transport);
    shard->peers.slots[slot] = peer;
    stats_count(&shard->stats, COUNT_CONNECTIONS_OPENED);
    log_write(LOG_CONNECTION_OPENED,
              LOG_FIELDS(log_number((int64_t)peer->connection_id), log_text(transport->name)),
              "connection %llu of %s opened", (unsigned long long)peer->connection_id, transport->name);
    if (!enters(shard, peer, secure)) {
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
        return;
    }
    peer_timer_restart(shard, peer);
    if (shard->settings->users)
        peer->connection.buffer_mode = BUFFER_MODE_SMALL; // until the user is known (identity_buffer_mode)
    connection_receive(&peer->connection, shard->io);
}

struct peer *peer_open_stub(struct shard *shard, const struct transport *transport) {
    assert(shard->magic == SHARD_MAGIC && transport && transport->ops.wanted);
    struct peer *peer = memory_take_zeroed(1, sizeof *peer);
    uint32_t slot = peer ? slot_take(shard) : UINT32_MAX;
    if (slot == UINT32_MAX) {
        memory_give(peer);
        return NULL;
    }
    peer_init(shard, peer, slot, -1);
    peer_speaks(shard, peer, transport);
    peer->connection.paused = true;
    peer->initialized = true;
    shard->peers.slots[slot] = peer;
    atomic_fetch_add_explicit(&shard->hub->connections[shard->index], 1, memory_order_relaxed);
    stats_count(&shard->stats, COUNT_CONNECTIONS_OPENED);
    return peer;
}

struct peer_cold *peer_take_cold(struct shard *shard, struct peer *peer) {
    assert(connection_shard(peer->connection_id) == shard->index);
    if (!peer->cold)
        peer->cold = peer_cold_create(&shard->connection_quota, peer, TIMER_TRANSPORT);
    return peer->cold;
}

void *peer_state_take(struct shard *shard, struct peer *peer, unsigned feature, size_t bytes) {
    struct peer_cold *cold = peer_take_cold(shard, peer);
    assert(feature < FEATURES_MAX && !peer_state(peer, feature));
    return cold ? cold->states[feature] = quota_take_zeroed(&shard->connection_quota, 1, bytes) : NULL;
}

void peer_keep(struct peer *peer, unsigned feature, void *state) {
    assert(feature < FEATURES_MAX && peer->cold && !peer_state(peer, feature) == (state != NULL));
    peer->cold->states[feature] = state;
}

// --- Ending

// Returns the states that may follow a state, as PEER_MOVE bits.
static inline unsigned states_behind(enum peer_state state) {
    static const unsigned behind[PEER_STATES_COUNT] = {
#define X(state, addressed, next) [state] = next,
        PEER_STATES(X)
#undef X
    };
    assert(state < PEER_STATES_COUNT);
    return behind[state];
}

// Changes a peer's state. The peer is in shard.teardown once, and the teardown goes by the state that the peer has
// then.
static void move(struct shard *shard, struct peer *peer, enum peer_state state) {
    assert(states_behind(peer->state) & PEER_MOVE(state));
    assert(!shard->teardown == (shard->teardown_last == &shard->teardown));
    peer->state = state;
    if (peer->ending)
        return;
    peer->ending = peer; // the last one points at itself
    *shard->teardown_last = peer;
    shard->teardown_last = &peer->ending;
}

void peer_ended(struct shard *shard, struct peer *peer) {
    if (peer->state == PEER_SHUT) // a peer that lingers is closed by peer_settle when its queue has been sent
        peer_close(shard, peer, COUNTER_NONE);
    else if (peer->state == PEER_OPEN)
        move(shard, peer, PEER_ENDED);
}

static void give_a_second(struct shard *shard, struct peer *peer) {
    assert(peer->state != PEER_CLOSING);
    if (!timer_armed(&peer->timer))
        wheel_arm(&shard->wheel, &peer->timer, shard_now_ms(shard) + LINGER_MS);
}

static void begin_to_linger(struct shard *shard, struct peer *peer, enum peer_state state) {
    assert(state == PEER_LINGERING || state == PEER_SILENCED);
    bool lingers = peer_lingers(peer) || peer->state == PEER_SHUT;
    if (peer->state == PEER_CLOSING)
        return;
    if (!lingers)
        wheel_disarm(&peer->timer);
    if (shard->phase != HUB_SERVING && shard->phase != HUB_DRAINING)
        give_a_second(shard, peer);
    if (!lingers)
        move(shard, peer, state);
}

void peer_linger(struct shard *shard, struct peer *peer) {
    begin_to_linger(shard, peer, PEER_LINGERING);
}

void peer_silence(struct shard *shard, struct peer *peer) {
    begin_to_linger(shard, peer, PEER_SILENCED);
}

static bool peer_all_sent(const struct peer *peer) {
    assert(peer->exchanges > 0 || peer->exchange_bytes == 0);
    return outbox_empty(&peer->connection.outbox) && !peer->connection.send_op &&
           (peer->exchanges == 0 || peer->state == PEER_SILENCED);
}

// Sends the transport's last message, behind the queue.
static void send_goodbye(struct shard *shard, struct peer *peer) {
    assert(peer->state == PEER_LINGERING && peer_all_sent(peer));
    peer->transport->ops.goodbye(shard, peer);
    if (peer->state == PEER_LINGERING)
        move(shard, peer, PEER_SILENCED);
}

// Handles the end of a peer's stream. A transport with a last message still sends it.
static void part(struct shard *shard, struct peer *peer) {
    assert(peer->state == PEER_ENDED);
    if (peer->connection.secure || peer->transport->ops.goodbye)
        peer_linger(shard, peer);
    else
        peer_close(shard, peer, COUNTER_NONE);
}

// Returns whether everything was sent. With TLS the close alert is last, and nothing is queued behind it.
static bool has_finished(struct shard *shard, struct peer *peer) {
    assert(peer_lingers(peer) && peer_all_sent(peer));
    if (!peer->connection.secure)
        return true;
    if (peer->state == PEER_LINGERING)
        move(shard, peer, PEER_SILENCED);
    return connection_finish(&peer->connection, shard->io, &shard->sender);
}

void peer_settle(struct shard *shard, struct peer *peer) {
    assert(connection_shard(peer->connection_id) == shard->index);
    if (peer->state == PEER_ENDED && list_empty(&peer->request_index.requests) && peer->awaited == 0 &&
        peer_all_sent(peer))
        part(shard, peer);
    if (peer->state == PEER_LINGERING && peer_all_sent(peer) && peer->transport->ops.goodbye)
        send_goodbye(shard, peer);
    if (!peer_lingers(peer) || !peer_all_sent(peer) || !has_finished(shard, peer))
        return;
    move(shard, peer, PEER_SHUT);
    give_a_second(shard, peer);
    io_shutdown(shard->io, peer->connection.socket, SHUT_WR);
    if (peer->connection.ended)
        peer_close(shard, peer, COUNTER_NONE);
}

static void log_closed(const struct peer *peer, int counter) {
    const char *reason = counter == COUNTER_NONE ? "ended" : stats_name((enum counter)counter);
    assert(reason);
    if (peer->connection.socket >= 0 && reason)
        log_write(LOG_CONNECTION_CLOSED,
                  LOG_FIELDS(log_text(reason), log_number((int64_t)peer->connection_id)),
                  "connection %llu closed: %s", (unsigned long long)peer->connection_id, reason);
}

void peer_close(struct shard *shard, struct peer *peer, int counter) {
    assert(counter >= COUNTER_NONE && counter < COUNTERS_COUNT);
    if (peer->state == PEER_CLOSING)
        return;
    move(shard, peer, PEER_CLOSING);
    log_closed(peer, counter);
    if (counter != COUNTER_NONE)
        stats_count(&shard->stats, (enum counter)counter);
}

void peer_close_sockets(struct shard *shard, struct peer *peer) {
    struct connection *connection = &peer->connection;
    assert(connection_at_rest(connection));
    if (connection->out != connection->socket)
        io_close_socket(shard->io, connection->out);
    if (connection->socket >= 0)
        io_close_socket(shard->io, connection->socket);
    connection->socket = connection->out = -1;
}

void peer_erase_bytes(const struct peer *peer, uint8_t *bytes, size_t count) {
    assert(peer->cold && bytes);
    if (peer->cold->identity)
        memset(bytes, 0, count);
}

void peer_drop_partial(struct peer *peer) {
    assert(peer->partial || !peer->partial_bytes);
    if (peer->partial)
        peer_erase(peer, peer->partial->bytes + peer->partial_at, peer->partial_bytes);
    buffer_drop(peer->partial);
    peer->partial = NULL;
    peer->partial_bytes = 0;
}

void peer_free(struct shard *shard, struct peer *peer) {
    assert(peer->state == PEER_CLOSING && !peer->ending && connection_at_rest(&peer->connection));
    assert(list_empty(&peer->to_send) && list_empty(&peer->by_receive_wait) && !timer_armed(&peer->timer));
    assert(outbox_empty(&peer->connection.outbox) && list_empty(&peer->request_index.requests));
    assert(!peer->admission.waiting && !peer->deficit && !peer->fanout_round);
    list_remove(&peer->by_lifecycle);
    connection_close(&peer->connection);
    peer_close_sockets(shard, peer);
    peer_drop_partial(peer);
    request_index_deinit(&peer->request_index);
    feature_peer_freed(shard, peer);
    if (peer->cold)
        identity_give(&shard->quota, &shard->connection_quota, peer->cold->identity);
    peer_cold_destroy(&shard->quota, &shard->connection_quota, peer->cold);
    stats_count(&shard->stats, COUNT_CONNECTIONS_CLOSED);
    stats_move_gauge(&shard->stats, peer->transport->gauge, -1);
    slot_give(shard, connection_slot(peer->connection_id));
    memory_give(peer);
}

// --- Time

// Returns for how many ms the peer has neither sent nor read bytes.
static uint32_t inactive_ms(const struct shard *shard, const struct peer *peer) {
    uint32_t silent = shard_since(shard, peer->received_ms), still = shard_since(shard, peer->sending_ms);
    return silent < still ? silent : still;
}

// Returns when a state that has lasted for lasted_ms reaches its limit.
static uint64_t due_after_ms(const struct shard *shard, uint32_t lasted_ms, uint64_t may_ns) {
    uint64_t may_ms = may_ns / 1000000;
    return shard_now_ms(shard) + (lasted_ms < may_ms ? may_ms - lasted_ms : 0);
}

// Returns when the peer's present state times out, in ms. A half-closed peer can't send. Such a peer is idle only while
// it doesn't take bytes that wait for it. While the peer waits for an answer it isn't idle.
uint64_t peer_due_ms(const struct shard *shard, const struct peer *peer) {
    const struct limits *limits = shard_limits(shard);
    bool open = peer->state == PEER_OPEN;
    if (peer->transport->ops.wanted &&
        !(open && peer->partial)) // a program's pauses between frames are its own
        return UINT64_MAX;
    if (open && !connection_established(&peer->connection))
        return due_after_ms(shard, shard_since(shard, peer->checked_ms), HANDSHAKE_MS * UINT64_C(1000000));
    if (open && peer->partial)
        return due_after_ms(shard, shard_since(shard, peer->checked_ms), limits->frame_timeout_ns);
    if (limits->idle_timeout_ns == 0 || !(open || peer->connection.send_op))
        return UINT64_MAX;
    return due_after_ms(shard, inactive_ms(shard, peer), limits->idle_timeout_ns);
}

// Returns the pause between two looks at how much the kernel has taken: a quarter of the idle time-out
// (peer_timeouts.c).
static uint64_t look_pause_ms(const struct shard *shard) {
    return (shard_limits(shard)->idle_timeout_ns / 1000000 + 3) / 4;
}

void peer_discount_wait(struct shard *shard, struct peer *peer, uint32_t from_ms) {
    uint32_t waited_ms = shard_since(shard, from_ms), lasted_ms = shard_since(shard, peer->checked_ms);
    peer->checked_ms += waited_ms < lasted_ms ? waited_ms : lasted_ms;
    peer->received_ms = shard_tick(shard);
    peer_timer_update(shard, peer);
}

void peer_timer_update(struct shard *shard, struct peer *peer) {
    if (peer->state != PEER_OPEN && peer->state != PEER_ENDED)
        return;
    uint64_t at_ms = peer_due_ms(shard, peer), look_ms = shard_now_ms(shard) + look_pause_ms(shard);
    bool measured = peer->partial || !connection_established(&peer->connection); // by itself, not by silence
    if (look_ms < at_ms && at_ms != UINT64_MAX && !(peer->state == PEER_OPEN && measured))
        at_ms = look_ms;
    if (at_ms == UINT64_MAX)
        wheel_disarm(&peer->timer);
    else
        wheel_arm(&shard->wheel, &peer->timer, at_ms);
}

void peer_timer_restart(struct shard *shard, struct peer *peer) {
    assert(peer->partial || peer->partial_bytes == 0);
    peer->partial_checked = peer->partial_bytes;
    peer->checked_ms = shard_tick(shard);
    peer_timer_update(shard, peer);
}

void peer_timer_update_all(struct shard *shard) {
    assert(shard->magic == SHARD_MAGIC && shard->peers.count <= shard->peers.capacity);
    for (uint32_t slot = 0; slot < shard->peers.capacity; slot++)
        if (shard->peers.slots[slot])
            peer_timer_update(shard, shard->peers.slots[slot]);
}
