#include "router/engine/receive/reassembly.h"

#include <assert.h>
#include <string.h>

#include "router/engine/shard/identity.h"

enum { REASSEMBLY_BYTES_MIN = 512, OPEN_DOUBLE_BYTES = 1024 * 1024 };

// Moves the partial frame to `buffer`. Returns false if `buffer` is NULL.
static bool move_to(const struct shard *shard, struct peer *peer, struct buffer *buffer) {
    struct buffer *old = peer->partial;
    if (!buffer)
        return false;
    peer->partial_ms = shard_tick(shard);
    assert(peer->partial_bytes <= buffer->capacity && (old || !peer->partial_bytes));
    uint32_t bytes = peer->partial_bytes;
    if (old)
        memcpy(buffer->bytes, old->bytes + peer->partial_at, bytes);
    peer_drop_partial(peer);
    peer->partial = buffer;
    peer->partial_at = 0;
    peer->partial_bytes = bytes;
    return true;
}

// Makes room for all of the frame, whose header block is whole.
static bool make_room_for_frame(struct shard *shard, struct peer *peer) {
    uint32_t bytes = peer->unit.bytes;
    assert(peer->unit.length_known && bytes >= peer->partial_bytes);
    return reassembly_has_room(peer, bytes) ||
           move_to(shard, peer, buffer_take_large(&shard->buffers, bytes));
}

// Returns the room for a unit of unknown length that is to hold `bytes` of it. The room is twice as much, and
// for a large unit as much as it could need, so that it doesn't hold much while it waits for more. While the
// unit is moved it has both. A limit may have been lowered since it began.
static uint32_t room_while_open(const struct shard *shard, const struct peer *peer, uint32_t bytes) {
    uint32_t most = peer->transport->codec.wire->open_max(&shard->unit_limits), held = 0;
    uint32_t room = bytes < REASSEMBLY_BYTES_MIN ? REASSEMBLY_BYTES_MIN : bytes * 2;
    if (bytes <= RECEIVE_BUFFER_BYTES) {
        room = room < RECEIVE_BUFFER_BYTES ? room : RECEIVE_BUFFER_BYTES;
    } else {
        held = peer->partial ? peer->partial->capacity : 0;
        room = bytes <= OPEN_DOUBLE_BYTES ? bytes * 2 : most;
    }
    room = room < most ? room : most;
    assert(bytes >= peer->partial_bytes);
    while (room > bytes && !buffer_pool_could_take(&shard->buffers, room + held))
        room = bytes + (room - bytes) / 2;
    return room > bytes ? room : bytes;
}

// Takes a buffer of `room` bytes, or a smaller one, of at least `bytes`. Returns NULL if there is no memory for that.
static struct buffer *take_while_open(struct shard *shard, uint32_t bytes, uint32_t room) {
    struct buffer *buffer = buffer_take_large(&shard->buffers, room);
    assert(room >= bytes);
    while (!buffer && room - bytes > ARRIVAL_BYTES_MAX) {
        room = bytes + (room - bytes) / 2;
        buffer = buffer_take_large(&shard->buffers, room);
    }
    return buffer;
}

static bool make_room_while_open(struct shard *shard, struct peer *peer, uint32_t bytes) {
    uint32_t room = room_while_open(shard, peer, bytes);
    if (reassembly_has_room(peer, bytes))
        return true;
    return move_to(shard, peer,
                   room <= RECEIVE_BUFFER_BYTES ? buffer_take_sized(&shard->buffers, room)
                                                : take_while_open(shard, bytes, room));
}

// Makes room for the bytes that have come, and no more.
static bool make_room_for_part(struct shard *shard, struct peer *peer, uint32_t bytes) {
    return reassembly_has_room(peer, bytes) ||
           move_to(shard, peer, buffer_take_sized(&shard->buffers, bytes));
}

// Returns whether a large frame can ever get its memory. Its bytes so far are kept while the frame waits. A unit of
// unknown length needs its old and its new buffer at once, and must leave some memory for the hub itself.
bool reassembly_may_wait(const struct shard *shard, const struct peer *peer, uint32_t bytes) {
    if (peer->unit.length_known)
        return peer->unit.bytes > RECEIVE_BUFFER_BYTES &&
               buffer_pool_could_take(&shard->buffers, peer->unit.bytes);
    uint64_t both = bytes + (uint64_t)(peer->partial ? peer->partial->capacity : 0), own = both / 3;
    return bytes > RECEIVE_BUFFER_BYTES && both + own <= UINT32_MAX &&
           buffer_pool_could_take(&shard->buffers, (uint32_t)(both + own));
}

// Makes room as the header says, or, for a large unit that may wait, for the bytes so far.
bool reassembly_make_room(struct shard *shard, struct peer *peer, uint32_t bytes) {
    if (peer->unit.length_known ? make_room_for_frame(shard, peer) : make_room_while_open(shard, peer, bytes))
        return true;
    return reassembly_may_wait(shard, peer, bytes) && make_room_for_part(shard, peer, bytes);
}

// Returns the peer that waits for memory and holds most, if that is more.
static struct peer *waits_with_more(const struct shard *shard, const struct peer *peer, uint32_t bytes) {
    struct peer *most = NULL;
    for (struct list *node = shard->starved.next; node != &shard->starved; node = node->next) {
        struct peer *other = list_entry(node, struct peer, by_receive_wait);
        if (other == peer || !peer_lacks_room(other) || other->partial->capacity <= bytes)
            continue;
        assert(other->state != PEER_CLOSING && other->connection.receiving != RECEIVING_DIRECT);
        if (!most || other->partial->capacity > most->partial->capacity)
            most = other;
    }
    return most;
}

// Closes such a peer to make room. Its buffer is given back at once, before the peer's end is carried out.
static bool make_way(struct shard *shard, const struct peer *peer, uint32_t bytes) {
    struct peer *other = waits_with_more(shard, peer, bytes);
    if (!other)
        return false;
    peer_close(shard, other, COUNT_CLOSED_NO_MEMORY);
    peer_drop_partial(other);
    return true;
}

bool reassembly_find_room(struct shard *shard, struct peer *peer, uint32_t bytes) {
    if (reassembly_make_room(shard, peer, bytes))
        return true;
    buffer_pool_trim(&shard->buffers);
    while (!reassembly_make_room(shard, peer, bytes))
        if (!make_way(shard, peer, bytes))
            return false;
    return true;
}

bool reassembly_make_room_for_rest(struct shard *shard, struct peer *peer) {
    return peer->unit.length_known ? make_room_for_frame(shard, peer)
                                   : make_room_while_open(shard, peer, peer->partial_bytes + 1);
}

void reassembly_cut(struct peer *peer, uint32_t bytes) {
    assert(bytes <= peer->partial_bytes);
    peer_erase(peer, peer->partial->bytes + peer->partial_at + bytes, peer->partial_bytes - bytes);
    peer->partial_bytes = bytes;
}

void reassembly_close_gap(struct peer *peer) {
    uint32_t gap = unit_gap(&peer->unit), behind = peer->unit.at;
    if (!gap)
        return;
    uint8_t *bytes = peer->partial->bytes + peer->partial_at;
    assert(behind <= peer->partial_bytes);
    memmove(bytes + behind - gap, bytes + behind, peer->partial_bytes - behind);
    reassembly_cut(peer, peer->partial_bytes - gap);
    peer->partial_checked -= gap < peer->partial_checked ? gap : peer->partial_checked;
    unit_close_gap(&peer->unit);
}

// --- A refused unit that isn't the stream's end

void reassembly_refused(struct peer *peer) {
    assert(peer->unit.fault && peer->transport->codec.wire == &wire_lines);
    unit_begin(&peer->unit);
    peer->unit.skipped = true;
}

uint32_t reassembly_skip(struct peer *peer, uint8_t *bytes, uint32_t count) {
    assert(peer->unit.skipped);
    const uint8_t *feed = memchr(bytes, '\n', count);
    uint32_t skipped = feed ? (uint32_t)(feed - bytes) + 1 : count;
    if (feed)
        unit_begin(&peer->unit);
    return skipped;
}

uint32_t reassembly_skip_here(struct peer *peer) {
    uint32_t bytes = peer->partial_bytes;
    assert(peer->partial);
    uint32_t skipped = reassembly_skip(peer, peer->partial->bytes + peer->partial_at, bytes);
    peer_drop_partial(peer);
    return bytes - skipped;
}

// --- Frames that lie in two arrivals

uint32_t reassembly_prepend(struct peer *peer, struct buffer *buffer, uint32_t from) {
    assert(from >= peer->partial_bytes && buffer != peer->partial);
    uint32_t at = from - peer->partial_bytes;
    memcpy(buffer->bytes + at, peer->partial->bytes + peer->partial_at, peer->partial_bytes);
    peer_drop_partial(peer);
    return at;
}

bool reassembly_should_prepend(const struct peer *peer, uint32_t count) {
    if (!peer->partial || peer->partial_bytes > RECEIVE_HEAD_BYTES)
        return false;
    if (!peer->unit.length_known)
        return peer->transport->codec.wire->opens_with_body;
    uint32_t lacking = peer->unit.bytes - peer->partial_bytes;
    return peer->partial_bytes <= lacking && lacking <= count;
}
