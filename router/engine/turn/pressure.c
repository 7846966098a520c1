// Near the bound of memory, features first give back what they can do without (feature.h, relieve).
//
// Then the reader that has read nothing for longest is closed; among several, the one with the longest queue. Its
// memory is free by the next look, and other peers aren't affected. Answers in exchanges wait for the last answer as
// long as its target likes, so a source whose exchanges hold much for long is closed likewise.
//
// If no peer of this shard is slow, other shards are asked. Meanwhile the bytes that fill the memory aren't read: large
// frames find no room and wait (receive.c), then receives find no buffer. The rest of the memory is for frames that
// have begun. If that isn't enough, the peer that waits and holds most is closed (reassembly.c). A frame that has room
// but arrives slowly makes all others wait, so the slowest sender is closed. If frames that wait hold all memory, the
// largest are closed, since nobody would be served until they time out. If many readers and sources hold a little each,
// they are closed, too.
#include "router/engine/turn/pressure.h"

#include <assert.h>

#include "core/base/memory.h"
#include "router/engine/send/exchange.h"
#include "router/engine/send/send.h"
#include "router/engine/send/slow_reader.h"
#include "router/engine/shard/feature_call.h"
#include "router/engine/shard/peer.h"

enum {
    RELIEF_PAUSE_MS = 10,
    SHRINK_PAUSE_MS = 1000,
    HELD_BYTES_MIN = 64 * 1024, // a peer that holds less isn't closed, as long as others can be served
    // The time for which a large frame may wait for memory, and answers may wait in an exchange. Slow readers are
    // closed before.
    WAIT_MS = 1000,
    NEWS_MS = 100, // the longest time until a shard knows what another shard has published below
    // The time after which a large frame that waits is itself given up. By then any shard has found a peer that held
    // memory for long when the frame began to wait.
    GIVE_UP_MS = WAIT_MS + 2 * NEWS_MS
};

static uint64_t still_ms(const struct shard *shard, const struct peer *peer) {
    assert(peer->connection.send_op); // else no bytes wait for the kernel
    return shard_since(shard, peer->sending_ms);
}

static bool is_slow(const struct shard *shard, const struct peer *peer, size_t bytes_min) {
    return peer->state != PEER_CLOSING && peer->connection.send_op &&
           still_ms(shard, peer) >= SLOW_READER_MS && connection_waiting(&peer->connection) >= bytes_min;
}

// Returns whether a slow peer is slower than another one. Times within a factor of two are alike: a target that only
// just fell behind may have more in its queue than a source that never reads.
static bool is_slower(const struct shard *shard, const struct peer *peer, const struct peer *other) {
    assert(still_ms(shard, peer) && still_ms(shard, other)); // SLOW_READER_MS at least
    int longer = __builtin_clzll(still_ms(shard, other)) - __builtin_clzll(still_ms(shard, peer));
    return longer > 0 ||
           (longer == 0 && connection_waiting(&peer->connection) > connection_waiting(&other->connection));
}

// Returns the slowest reader, or NULL. The end of a send may wait for this shard's next look at the kernel, and a large
// send lasts. So the kernel is asked whether the peer has taken anything.
static struct peer *slowest(struct shard *shard, size_t bytes_min) {
    struct peer *worst = NULL;
    for (uint32_t slot = 0; slot < shard->peers.capacity; slot++) {
        struct peer *peer = shard->peers.slots[slot];
        if (peer && is_slow(shard, peer, bytes_min) && (!worst || is_slower(shard, peer, worst)) &&
            !slow_reader_poll(shard, peer))
            worst = peer;
    }
    return worst;
}

// Returns the large frame with most bytes that has waited so long for memory.
static struct peer *largest_waiting(const struct shard *shard, uint32_t wait_ms) {
    struct peer *largest = NULL;
    for (struct list *node = shard->starved.next; node != &shard->starved; node = node->next) {
        struct peer *peer = list_entry(node, struct peer, by_receive_wait);
        assert(peer->state != PEER_CLOSING);
        if (peer_lacks_room(peer) && shard_since(shard, peer->received_ms) >= wait_ms &&
            (!largest || peer->partial_bytes > largest->partial_bytes))
            largest = peer;
    }
    return largest;
}

// Closes a reader that is slow, or a source whose exchanges hold much for long. Returns whether there was one.
static bool close_holder(struct shard *shard, size_t bytes_min) {
    uint64_t now_ms = shard_now_ms(shard), since_ms = now_ms > WAIT_MS ? now_ms - WAIT_MS : 0;
    struct peer *slow = slowest(shard, bytes_min);
    struct peer *holder = slow ? NULL : exchange_holder(shard, since_ms, bytes_min);
    if (slow)
        peer_close(shard, slow, COUNT_CLOSED_SLOW_READER);
    else if (holder)
        peer_close(shard, holder, COUNT_CLOSED_NO_MEMORY);
    if (slow || holder)
        atomic_store_explicit(&shard->hub->relieved_ms, now_ms, memory_order_relaxed);
    return slow || holder;
}

// Returns whether any shard has closed a reader a moment ago: its memory will be free soon.
static bool was_relieved(const struct shard *shard) {
    uint64_t relieved_ms = atomic_load_explicit(&shard->hub->relieved_ms, memory_order_relaxed);
    return relieved_ms && shard_now_ms(shard) < relieved_ms + NEWS_MS;
}

// --- Slow senders

// Returns whether a large frame has waited long, here or on another shard.
static bool somebody_waits(struct shard *shard) {
    uint64_t now_ms = shard_now_ms(shard);
    if (largest_waiting(shard, WAIT_MS))
        atomic_store_explicit(&shard->hub->waiting_ms, now_ms, memory_order_relaxed);
    return now_ms < atomic_load_explicit(&shard->hub->waiting_ms, memory_order_relaxed) + NEWS_MS;
}

// Returns for how long a peer has had the room for its frame.
static uint32_t had_room_ms(const struct shard *shard, const struct peer *peer) {
    assert(peer->partial);
    return shard_since(shard, peer->partial_ms);
}

// Returns how long a frame takes in all, at the pace at which its bytes have come since it got room. 0: that can't be
// told yet.
static uint64_t pace_ms(const struct shard *shard, const struct peer *peer) {
    const struct unit *unit = &peer->unit;
    if (peer->state != PEER_OPEN || !peer->partial || peer_lacks_room(peer) ||
        had_room_ms(shard, peer) < WAIT_MS)
        return 0;
    uint32_t bytes = unit->length_known ? unit->bytes : peer->partial->capacity;
    assert(peer->partial_bytes > 0);
    return (uint64_t)had_room_ms(shard, peer) * bytes / peer->partial_bytes;
}

// Senders whose frames would take longer than a header block may. In each kind the sender that ranks highest
// is to go first.
struct slow_senders {
    struct peer *large, *small; // the frame is one that waits for memory, or not
    uint64_t large_rank, small_rank;
    uint64_t small_bytes; // that all of the small ones hold
};

static uint64_t doublings(uint64_t number) {
    assert(number > 0);
    return 64 - (uint64_t)__builtin_clzll(number);
}

// Considers a sender of a large frame. Ranks by slowness, to a power of two, then by how few bytes have come. Senders
// that share a link have such paces, and if each of them might be closed in turn, no frame might ever end.
static void consider_large(struct slow_senders *slow, struct peer *peer, uint64_t pace) {
    assert(peer->state == PEER_OPEN && pace > 0);
    uint64_t rank = doublings(pace) << 32 | (UINT32_MAX - peer->partial_bytes);
    if (rank <= slow->large_rank)
        return;
    slow->large_rank = rank;
    slow->large = peer;
}

// Considers a sender of a small frame. Ranks by the memory that it holds, to a power of two, then by slowness.
static void consider_small(struct slow_senders *slow, struct peer *peer, uint64_t pace) {
    uint32_t capacity = peer->partial->capacity;
    uint64_t rank = doublings(capacity) << 32 | (pace < UINT32_MAX ? pace : UINT32_MAX);
    slow->small_bytes += capacity;
    if (rank <= slow->small_rank)
        return;
    slow->small_rank = rank;
    slow->small = peer;
}

static struct slow_senders slow_senders(const struct shard *shard) {
    uint64_t good_ms = shard_limits(shard)->frame_timeout_ns / 1000000;
    struct slow_senders slow = {0};
    for (uint32_t slot = 0; slot < shard->peers.capacity; slot++) {
        struct peer *peer = shard->peers.slots[slot];
        uint64_t pace = peer ? pace_ms(shard, peer) : 0;
        if (pace <= good_ms)
            continue;
        if (peer->partial->capacity > RECEIVE_BUFFER_BYTES)
            consider_large(&slow, peer, pace);
        else
            consider_small(&slow, peer, pace);
    }
    return slow;
}

static bool is_highest(const struct hub *hub, uint64_t rank) {
    for (uint32_t shard = 0; shard < hub->start_settings.shard_count; shard++)
        if (atomic_load_explicit(&hub->slowest[shard], memory_order_relaxed) > rank)
            return false;
    return true;
}

// Closes the slowest sender of a large frame if other peers have waited long and no other shard has published a slower
// sender. Returns whether it did. All shards together free at most the room of one largest frame in WAIT_MS, so that a
// frame that got room can finish.
static bool close_large_sender(struct shard *shard, const struct slow_senders *senders) {
    uint64_t now_ms = shard_now_ms(shard), rank = senders->large_rank;
    struct peer *slow = senders->large;
    atomic_store_explicit(&shard->hub->slowest[shard->index], rank, memory_order_relaxed);
    uint64_t due_ms = atomic_load_explicit(&shard->hub->give_way_ms, memory_order_relaxed);
    if (!somebody_waits(shard) || !slow || had_room_ms(shard, slow) < WAIT_MS + NEWS_MS || now_ms < due_ms ||
        !is_highest(shard->hub, rank))
        return false;
    uint64_t pause_ms = (uint64_t)WAIT_MS * slow->partial->capacity / shard_limits(shard)->frame_bytes_max;
    uint64_t next_ms = now_ms + (pause_ms > NEWS_MS ? pause_ms : NEWS_MS);
    if (!atomic_compare_exchange_strong(&shard->hub->give_way_ms, &due_ms, next_ms))
        return false; // another shard just did
    peer_close(shard, slow, COUNT_CLOSED_NO_MEMORY);
    return true;
}

// Closes the sender of a small frame that holds most, if such frames hold as much memory as is left for receiving.
// Small frames don't wait for memory, so they could take all of it. A slow reader is closed before, since a peer that
// isn't read because of that reader looks slow, too.
static bool close_small_sender(struct shard *shard, const struct slow_senders *senders) {
    uint64_t share = shard_limits(shard)->memory_bytes_max / 16 / shard->hub->start_settings.shard_count;
    if (!senders->small || senders->small_bytes < share || !buffer_budget_tight(&shard->hub->budget))
        return false;
    if (!close_holder(shard, 1))
        peer_close(shard, senders->small, COUNT_CLOSED_NO_MEMORY);
    return true;
}

static bool close_slow_sender(struct shard *shard) {
    struct slow_senders senders = slow_senders(shard);
    return close_large_sender(shard, &senders) || close_small_sender(shard, &senders);
}

// --- Relief

static uint64_t used(const struct shard *shard) {
    return atomic_load_explicit(&shard->hub->budget.bytes, memory_order_relaxed);
}

// Returns whether memory is short: little is left, or a buffer was refused since the last look.
static bool is_short(struct shard *shard) {
    const struct buffer_budget *budget = &shard->hub->budget;
    uint64_t refused = atomic_load_explicit(&budget->refused, memory_order_relaxed);
    bool anew = refused != shard->refused;
    shard->refused = refused;
    return anew || buffer_budget_tight(budget);
}

// Gives unused memory back to the system, also what the allocator keeps, since another shard can't use that. Returns
// whether that freed a sixteenth of --max-memory.
static bool trim(struct shard *shard) {
    uint64_t before = used(shard);
    buffer_pool_trim(&shard->buffers);
    parcel_pool_trim(&shard->parcels);
    memory_collect();
    return used(shard) + shard_limits(shard)->memory_bytes_max / 16 <= before;
}

// Returns the peer with a unit of unknown length that has waited long for memory and holds the fewest bytes. Such units
// hold their bytes while they wait, so they might wait for each other. NULL: they hold little together.
static struct peer *least_waiting_open(const struct shard *shard) {
    uint64_t held = 0,
             much = shard_limits(shard)->memory_bytes_max / 4 / shard->hub->start_settings.shard_count;
    struct peer *least = NULL;
    for (struct list *node = shard->starved.next; node != &shard->starved; node = node->next) {
        struct peer *peer = list_entry(node, struct peer, by_receive_wait);
        if (peer->unit.length_known || !peer_lacks_room(peer) ||
            shard_since(shard, peer->received_ms) < WAIT_MS)
            continue;
        held += peer->partial->capacity;
        if (!least || peer->partial_bytes < least->partial_bytes)
            least = peer;
    }
    return held >= much ? least : NULL;
}

static bool close_waiting_open(struct shard *shard) {
    struct peer *peer = least_waiting_open(shard);
    if (peer)
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
    return peer != NULL;
}

// Closes one peer: a slow reader of any shard first, then a sender.
static void close_one(struct shard *shard) {
    if (close_holder(shard, HELD_BYTES_MIN) || was_relieved(shard) || close_slow_sender(shard) ||
        close_waiting_open(shard) || buffer_pool_can_take(&shard->buffers))
        return;
    struct peer *waiting = largest_waiting(shard, GIVE_UP_MS);
    if (waiting)
        peer_close(shard, waiting, COUNT_CLOSED_NO_MEMORY);
    else if (!largest_waiting(shard, WAIT_MS)) // otherwise that peer is closed soon, and frees more
        close_holder(shard, 1);
}

// Returns whether unused memory could be given back to the system.
static bool has_unused(const struct shard *shard) {
    return shard->buffers.free_count || shard->buffers.returned || shard->parcels.free_count ||
           pending_table_has_unused(&shard->pending) || shard->free_exchanges.count;
}

static void shrink_later(struct shard *shard) {
    assert(shard->shrink_timer.kind == TIMER_SHRINK);
    wheel_arm(&shard->wheel, &shard->shrink_timer, shard_now_ms(shard) + SHRINK_PAUSE_MS);
}

// Gives the memory of a burst back, which is kept for a second so that the next burst finds it. The allocator keeps
// returned memory for a moment, so one more look follows the last one that gave memory back.
void pressure_shrink(struct shard *shard) {
    assert(!timer_armed(&shard->shrink_timer));
    buffer_pool_shrink(&shard->buffers);
    parcel_pool_shrink(&shard->parcels);
    pending_table_shrink(&shard->pending);
    freelist_shrink(&shard->free_exchanges, &shard->quota);
    memory_collect();
    if (has_unused(shard))
        shrink_later(shard);
}

void pressure_relieve(struct shard *shard) {
    assert(!shard->teardown);
    if (has_unused(shard) && !timer_armed(&shard->shrink_timer))
        shrink_later(shard);
    if (shard_now_ms(shard) < shard->relief_ms || !is_short(shard))
        return;
    shard->relief_ms = shard_now_ms(shard) + RELIEF_PAUSE_MS;
    bool relieved = feature_relieve(shard);
    if (relieved)
        atomic_store_explicit(&shard->hub->relieved_ms, shard_now_ms(shard), memory_order_relaxed);
    if (!trim(shard) && !relieved)
        close_one(shard);
    shard_wake_others(shard);
}
