#include "core/send/outbox.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/send/pack.h"
#include "core/send/parcel.h"

enum { SCAN_MAX = 64 }; // parcels that are searched without an index, besides packs

void outbox_init(struct outbox *outbox) {
    for (unsigned lane = 0; lane < LANES_COUNT; lane++)
        parcel_list_init(&outbox->lanes[lane]);
    outbox->begun = LANES_COUNT;
    outbox->packs = 0;
    outbox->is_busy = false;
    outbox->index = NULL;
    outbox->bytes = 0;
    outbox->urgent_bytes = 0;
    outbox->count = 0;
}

// --- The index of waiting requests

// Hashes a hub id. The hub chooses the ids, so no peer can choose a bucket.
static uint64_t hash_of(uint64_t hub_id) {
    assert(hub_id);
    return hash_table_hash(hub_id, UINT64_C(0x9e3779b97f4a7c15));
}

static uint64_t hash_of_parcel(const struct hash_table *index, const struct hash_node *node) {
    (void)index;
    return hash_of(hash_table_entry(node, struct parcel, by_hub_id)->hub_id);
}

static void index_drop(struct outbox *outbox) {
    hash_table_deinit(outbox->index);
    memory_give(outbox->index);
    outbox->index = NULL;
}

static void index_add(struct outbox *outbox, struct parcel *parcel) {
    // A table with any capacity takes every parcel: a bucket may have several
    assert(outbox->index->capacity > 0);
    parcel->by_hub_id = (struct hash_node){0};
    bool is_added = hash_table_add(outbox->index, &parcel->by_hub_id);
    assert(is_added);
    (void)is_added;
}

// Makes the index of all waiting parcels. Without memory the outbox gets no index.
static void index_make(struct outbox *outbox) {
    outbox->index = memory_take(sizeof *outbox->index);
    if (!outbox->index)
        return;
    hash_table_init(outbox->index, hash_of_parcel, NULL);
    if (!hash_table_reserve(outbox->index, outbox->count)) {
        index_drop(outbox);
        return;
    }
    for (unsigned lane = 0; lane < LANES_COUNT; lane++)
        for (struct parcel *parcel = outbox->lanes[lane].first; parcel; parcel = parcel->next)
            if (parcel->hub_id)
                index_add(outbox, parcel);
    assert(outbox->index->count <= outbox->count);
}

static void index_remove(struct outbox *outbox, struct parcel *parcel) {
    if (parcel->hub_id)
        hash_table_remove(outbox->index, &parcel->by_hub_id);
    if (outbox->count == 0)
        index_drop(outbox);
}

static struct parcel *index_find(const struct outbox *outbox, uint64_t hub_id) {
    for (struct hash_node *node = hash_table_find(outbox->index, hash_of(hub_id)); node; node = node->next)
        if (hash_table_entry(node, struct parcel, by_hub_id)->hub_id == hub_id)
            return hash_table_entry(node, struct parcel, by_hub_id);
    return NULL;
}

// --- The queue

static uint32_t urgent_bytes(const struct parcel *parcel) {
    assert(parcel->lane == LANE_URGENT);
    return (uint32_t)(parcel->bytes + sizeof *parcel);
}

// Returns how many frames the outbox counts for the parcel.
static inline uint32_t count_of(const struct parcel *parcel) {
    return parcel->packed ? parcel->frames : 1;
}

void outbox_add(struct outbox *outbox, struct parcel *parcel) {
    assert(parcel->is_encoded && parcel->hole_count == 0 && parcel->shares == 0);
    assert(parcel->lane < LANES_COUNT && !parcel->packed && outbox->count < OUTBOX_COUNT_MAX);
    parcel_list_append(&outbox->lanes[parcel->lane], parcel);
    outbox->bytes += parcel->bytes;
    if (parcel->lane == LANE_URGENT)
        outbox->urgent_bytes += urgent_bytes(parcel);
    outbox->count++;
    if (outbox->index && parcel->hub_id)
        index_add(outbox, parcel);
}

void outbox_add_several(struct outbox *outbox, struct parcel_list *row, uint32_t count, size_t bytes) {
    assert(row->first && count > 0 && !outbox->index && outbox->count + count <= OUTBOX_COUNT_MAX);
    parcel_list_move(row, parcel_list_last(row), &outbox->lanes[LANE_NORMAL]);
    outbox->bytes += bytes;
    outbox->count = (outbox->count + count) & OUTBOX_COUNT_MAX;
}

static void outbox_take_out(struct outbox *outbox, struct parcel_list *lane, struct parcel *parcel) {
    assert(outbox->count > 0 && outbox->bytes >= parcel->bytes);
    assert(parcel->lane != LANE_URGENT || outbox->urgent_bytes >= urgent_bytes(parcel));
    parcel_list_remove(lane, parcel);
    outbox->bytes -= parcel->bytes;
    if (parcel->lane == LANE_URGENT)
        outbox->urgent_bytes -= urgent_bytes(parcel);
    outbox->count = (outbox->count - count_of(parcel)) & OUTBOX_COUNT_MAX;
    outbox->packs = (outbox->packs - parcel->packed) & 3;
    assert(outbox->count > 0 || (outbox->bytes == 0 && outbox->urgent_bytes == 0));
    if (outbox->index)
        index_remove(outbox, parcel);
}

static struct parcel_list *first_lane(struct outbox *outbox) {
    if (outbox->begun < LANES_COUNT && outbox->lanes[outbox->begun].first)
        return &outbox->lanes[outbox->begun];
    for (unsigned lane = 0; lane < LANES_COUNT; lane++)
        if (outbox->lanes[lane].first)
            return &outbox->lanes[lane];
    assert(outbox_empty(outbox));
    return NULL;
}

static struct parcel *take_from(struct outbox *outbox, struct parcel_list *lane) {
    struct parcel *parcel = lane->first;
    outbox_take_out(outbox, lane, parcel);
    outbox->begun = (unsigned)(parcel->unfinished ? lane - outbox->lanes : LANES_COUNT) & 3;
    return parcel;
}

struct parcel *outbox_take(struct outbox *outbox) {
    struct parcel_list *lane = first_lane(outbox);
    return lane ? take_from(outbox, lane) : NULL;
}

void outbox_seal(struct outbox *outbox) {
    struct parcel_list *lane = &outbox->lanes[LANE_NORMAL];
    assert(outbox->begun == LANES_COUNT || outbox->begun == LANE_NORMAL);
    assert(!outbox->lanes[LANE_URGENT].first && !outbox->lanes[LANE_HIGH].first);
    for (struct parcel *parcel = lane->first; parcel; parcel = parcel->next)
        parcel->unfinished = parcel->next != NULL;
    outbox->begun = lane->first ? LANE_NORMAL : LANES_COUNT;
}

// --- Packs

// Returns the first pack that has the request, or NULL.
static struct parcel *find_packed(const struct outbox *outbox, uint64_t hub_id) {
    uint32_t left = outbox->packs;
    for (struct parcel *parcel = outbox->lanes[LANE_NORMAL].first; left > 0; parcel = parcel->next) {
        left -= parcel->packed;
        if (parcel->packed && pack_has(parcel, hub_id))
            return parcel;
    }
    return NULL;
}

bool outbox_pack(struct outbox *outbox, struct parcel_pool *parcels, struct buffer_pool *buffers,
                 const struct frame *frame, struct span value, struct piece text, uint64_t hub_id,
                 const struct pack_envelope *envelope) {
    struct parcel *pack = parcel_list_last(&outbox->lanes[LANE_NORMAL]);
    size_t before = pack ? pack->bytes : 0;
    assert(outbox_may_pack(outbox));
    if (!pack || !pack->packed || !pack_add(pack, frame, value, text, hub_id, envelope)) {
        bool may_create = outbox->packs < OUTBOX_PACKS_MAX && !buffer_budget_tight(buffers->budget);
        pack = may_create ? pack_create(parcels, buffers) : NULL;
        if (!pack)
            return false;
        if (!pack_add(pack, frame, value, text, hub_id, envelope)) { // `text` is too long for any pack
            parcel_drop(pack);
            return false;
        }
        parcel_list_append(&outbox->lanes[LANE_NORMAL], pack);
        outbox->packs = (outbox->packs + 1) & 3;
        before = 0;
    }
    outbox->bytes += pack->bytes - before;
    outbox->count++;
    return true;
}

bool outbox_unpack(struct outbox *outbox, uint64_t hub_id) {
    struct parcel *pack = find_packed(outbox, hub_id);
    if (!pack)
        return false;
    if (pack->frames == 1) {
        outbox_take_out(outbox, &outbox->lanes[LANE_NORMAL], pack);
        parcel_drop(pack);
        return true;
    }
    outbox->bytes -= pack_remove(pack, hub_id);
    outbox->count--;
    return true;
}

static struct parcel *look_through(const struct outbox *outbox, uint64_t hub_id) {
    for (unsigned lane = 0; lane < LANES_COUNT; lane++)
        for (struct parcel *parcel = outbox->lanes[lane].first; parcel; parcel = parcel->next)
            if (parcel->hub_id == hub_id)
                return parcel;
    return NULL;
}

// Returns how many of the waiting parcels are not packs.
static uint32_t count_outside_packs(const struct outbox *outbox) {
    uint32_t count = outbox->count, left = outbox->packs;
    for (const struct parcel *parcel = outbox->lanes[LANE_NORMAL].first; left > 0; parcel = parcel->next) {
        left -= parcel->packed;
        count -= parcel->packed ? parcel->frames : 0;
    }
    return count;
}

static struct parcel *find_request(struct outbox *outbox, uint64_t hub_id) {
    assert(hub_id); // only requests are taken back
    if (!outbox->index && outbox->count > SCAN_MAX && count_outside_packs(outbox) > SCAN_MAX)
        index_make(outbox);
    return outbox->index ? index_find(outbox, hub_id) : look_through(outbox, hub_id);
}

bool outbox_has(struct outbox *outbox, uint64_t hub_id) {
    return find_packed(outbox, hub_id) || find_request(outbox, hub_id);
}

struct parcel *outbox_remove(struct outbox *outbox, uint64_t hub_id) {
    struct parcel *parcel = find_request(outbox, hub_id);
    if (parcel)
        outbox_take_out(outbox, &outbox->lanes[parcel->lane], parcel);
    return parcel;
}

void outbox_filter(struct outbox *outbox, uint64_t stream, struct parcel_list *out) {
    struct parcel_list *lane = &outbox->lanes[LANE_NORMAL];
    for (struct parcel *parcel = lane->first, *next; parcel; parcel = next) {
        next = parcel->next;
        if (!parcel->of_stream || parcel->stream != stream)
            continue;
        assert(!parcel->hub_id && !parcel->unfinished); // a chunk is a whole frame, and no request
        outbox_take_out(outbox, lane, parcel);
        parcel_list_append(out, parcel);
    }
}

// --- Memory to copy to

void stage_init(struct stage *stage, struct buffer_pool *pool) {
    *stage = (struct stage){.pool = pool};
}

void stage_init_sized(struct stage *stage, struct buffer_pool *pool, size_t bytes) {
    stage_init(stage, pool);
    assert(bytes > 0);
    stage->buffer =
        buffer_take_sized(pool, bytes < RECEIVE_BUFFER_BYTES ? (uint32_t)bytes : RECEIVE_BUFFER_BYTES);
}

void stage_deinit(struct stage *stage) {
    assert(stage->pool && (!stage->buffer || stage->buffer->references > 0));
    buffer_drop(stage->buffer);
    stage->buffer = NULL;
}

// Makes room for `bytes` in the stage: in the present buffer, from its start if no send refers to it any more, else in
// a new buffer. Returns false without memory.
static bool stage_room(struct stage *stage, size_t bytes) {
    assert(bytes <= RECEIVE_BUFFER_BYTES);
    assert(!stage->buffer || (stage->buffer->references > 0 && stage->used <= stage->buffer->capacity));
    if (stage->buffer && stage->buffer->references == 1)
        stage->used = 0;
    if (stage->buffer && stage->buffer->capacity - stage->used >= bytes)
        return true;
    struct buffer *fresh = buffer_take(stage->pool);
    if (!fresh)
        return false;
    buffer_drop(stage->buffer);
    stage->buffer = fresh;
    stage->used = 0;
    return true;
}

static void add_vector(struct send_op *send_op, const void *bytes, size_t count) {
    assert(count > 0 && send_op->count <= SEND_VECTORS_MAX);
    struct iovec *last = send_op->count ? &send_op->vectors[send_op->count - 1] : NULL;
    if (last && (const uint8_t *)last->iov_base + last->iov_len == (const uint8_t *)bytes) {
        last->iov_len += count;
    } else {
        union {
            const void *from;
            void *to;
        } unconst = {.from = bytes}; // struct iovec also serves reads, so its pointer isn't const
        assert(send_op->count < SEND_VECTORS_MAX);
        send_op->vectors[send_op->count++] = (struct iovec){.iov_base = unconst.to, .iov_len = count};
    }
    send_op->bytes += count;
}

// Makes room in the stage, whose buffer the send_op then holds. Returns NULL if stage or send_op has no room.
static inline uint8_t *stage_for(struct send_op *send_op, struct stage *stage, size_t bytes) {
    assert(send_op->stage_count <= SEND_STAGES_MAX);
    if (!stage_room(stage, bytes))
        return NULL;
    struct buffer *latest = send_op->stage_count ? send_op->stages[send_op->stage_count - 1] : NULL;
    if (latest != stage->buffer) {
        if (send_op->stage_count == SEND_STAGES_MAX)
            return NULL;
        buffer_hold(stage->buffer);
        send_op->stages[send_op->stage_count++] = stage->buffer;
    }
    return stage->buffer->bytes + stage->used;
}

static inline void add_staged(struct send_op *send_op, struct stage *stage, const uint8_t *at, size_t bytes) {
    assert(stage->used + bytes <= stage->buffer->capacity);
    add_vector(send_op, at, bytes);
    stage->used += (uint32_t)bytes;
}

// Copies a small parcel to the stage. Returns false if stage or send_op has no room.
static bool add_copied(struct send_op *send_op, struct stage *stage, const struct parcel *parcel) {
    uint8_t *to = stage_for(send_op, stage, parcel->bytes);
    if (!to)
        return false;
    parcel_copy(parcel, to);
    add_staged(send_op, stage, to, parcel->bytes);
    return true;
}

uint8_t *send_op_place(struct send_op *send_op, struct stage *stage, size_t count) {
    assert(count > 0 && count <= RECEIVE_BUFFER_BYTES);
    uint8_t *to = send_op->count < SEND_VECTORS_MAX ? stage_for(send_op, stage, count) : NULL;
    if (to)
        add_staged(send_op, stage, to, count);
    return to;
}

bool send_op_copy(struct send_op *send_op, struct stage *stage, const void *bytes, size_t count) {
    uint8_t *to = send_op_place(send_op, stage, count);
    if (to)
        memcpy(to, bytes, count);
    return to;
}

static void add_carried(struct send_op *send_op, const struct parcel *parcel) {
    struct piece pieces[PARCEL_VECTORS_MAX];
    unsigned count = parcel_pieces(parcel, pieces);
    for (unsigned index = 0; index < count; index++)
        add_vector(send_op, pieces[index].bytes, pieces[index].count);
}

void send_op_begin(struct send_op *send_op) {
    send_op->first = send_op->count = send_op->stage_count = 0;
    send_op->bytes = 0;
    send_op->cut = NULL;
    parcel_list_init(&send_op->carried);
}

// Returns whether the parcel may be copied together with its neighbours in the lane.
static inline bool is_in_row(const struct parcel *parcel, size_t room) {
    return parcel->bytes <= COPY_BYTES_MAX && parcel->bytes <= room;
}

// Copies the first small parcels of a lane that fit side by side, so that their common costs are paid once. The last of
// these may end in the middle of a frame. Returns false if the caller must take the first parcel alone.
static bool add_row(struct outbox *outbox, struct parcel_list *lane, struct stage *stage,
                    struct send_op *send_op, size_t bytes_max, struct parcel_list *copied) {
    bool is_plain = lane != &outbox->lanes[LANE_URGENT] && !outbox->index;
    if (!is_plain || !is_in_row(lane->first, COPY_BYTES_MAX))
        return false;
    uint8_t *to = stage_for(send_op, stage, lane->first->bytes);
    if (!to)
        return false;
    size_t room = stage->buffer->capacity - stage->used, wanted = bytes_max - send_op->bytes, bytes = 0;
    uint32_t count = 0;
    // An earlier lane comes next, behind the frame whose begin was taken
    bool ends = outbox->begun < LANES_COUNT;
    struct parcel *end = lane->first;
    for (struct parcel *next = end; next && bytes < wanted && is_in_row(next, room - bytes);
         next = ends && !next->unfinished ? NULL : next->next) {
        assert(next->is_encoded && next->lane == lane - outbox->lanes);
        parcel_fetch(next->next);
        parcel_copy(next, to + bytes);
        bytes += next->bytes;
        count += count_of(next);
        outbox->packs = (outbox->packs - next->packed) & 3;
        end = next;
    }
    assert(count > 0 && outbox->count >= count && outbox->bytes >= bytes);
    add_staged(send_op, stage, to, bytes);
    parcel_list_move(lane, end, copied);
    outbox->bytes -= bytes;
    outbox->count = (outbox->count - count) & OUTBOX_COUNT_MAX;
    outbox->begun = (unsigned)(end->unfinished ? lane - outbox->lanes : LANES_COUNT) & 3;
    return true;
}

// Moves the first parcel of a lane to the send_op: copies a small parcel, and points to the pieces of a larger one.
// Without memory for a copy it points to a small parcel as well. Returns false if the send_op may hold no more stages.
static bool add_first(struct outbox *outbox, struct parcel_list *lane, struct stage *stage,
                      struct send_op *send_op, struct parcel_list *copied) {
    const struct parcel *parcel = lane->first;
    bool is_small = parcel->bytes <= COPY_BYTES_MAX;
    assert(parcel->is_encoded);
    if (is_small && add_copied(send_op, stage, parcel)) {
        parcel_list_append(copied, take_from(outbox, lane));
        return true;
    }
    if (is_small && send_op->stage_count == SEND_STAGES_MAX)
        return false;
    add_carried(send_op, parcel);
    parcel_list_append(&send_op->carried, take_from(outbox, lane));
    return true;
}

void outbox_gather(struct outbox *outbox, struct stage *stage, struct send_op *send_op, size_t bytes_max,
                   struct parcel_list *copied) {
    assert(!outbox_empty(outbox));
    outbox->is_busy = outbox->count >= OUTBOX_BUSY_FROM;
    send_op_begin(send_op);
    for (struct parcel_list *lane; send_op->bytes < bytes_max && (lane = first_lane(outbox));) {
        if (send_op->count + parcel_vector_count(lane->first) > SEND_VECTORS_MAX)
            break;
        if (!add_row(outbox, lane, stage, send_op, bytes_max, copied) &&
            !add_first(outbox, lane, stage, send_op, copied))
            break;
    }
    assert(send_op->count > 0 && send_op->bytes > 0);
}

unsigned send_op_part(struct send_op *send_op, size_t bytes_max) {
    assert(!send_op->cut && send_op->bytes > 0 && bytes_max > 0);
    if (send_op->bytes <= bytes_max)
        return send_op->count - send_op->first;
    unsigned end = send_op->first;
    size_t bytes = 0;
    while (bytes < bytes_max)
        bytes += send_op->vectors[end++].iov_len;
    if (bytes > bytes_max) {
        send_op->cut = &send_op->vectors[end - 1];
        send_op->cut_bytes = bytes - bytes_max;
        send_op->cut->iov_len -= send_op->cut_bytes;
    }
    return end - send_op->first;
}

bool send_op_advance(struct send_op *send_op, size_t bytes) {
    assert(bytes <= send_op->bytes);
    if (send_op->cut) {
        send_op->cut->iov_len += send_op->cut_bytes;
        send_op->cut = NULL;
    }
    send_op->bytes -= bytes;
    while (bytes) {
        assert(send_op->first < send_op->count);
        struct iovec *vector = &send_op->vectors[send_op->first];
        if (bytes < vector->iov_len) {
            vector->iov_base = (char *)vector->iov_base + bytes;
            vector->iov_len -= bytes;
            break;
        }
        bytes -= vector->iov_len;
        send_op->first++;
    }
    return send_op->bytes == 0;
}

void send_op_clear(struct send_op *send_op, struct parcel_list *done) {
    assert(send_op->stage_count <= SEND_STAGES_MAX); // `cut` may be set: the peer may have gone during a part
    for (unsigned index = 0; index < send_op->stage_count; index++)
        buffer_drop(send_op->stages[index]);
    send_op->stage_count = 0;
    for (struct parcel *parcel; (parcel = parcel_list_take(&send_op->carried));)
        parcel_list_append(done, parcel);
}
