// The outbox: parcels that wait to be sent on one connection, and the way they are put together for one send.
//
// Small frames may wait together in one parcel, a pack (pack.h).
//
// Gathering takes parcels from the outbox, the first lane first. A parcel of up to COPY_BYTES_MAX is copied
// to the stage, behind its predecessor, so that many small frames become one vector. A larger one becomes
// vectors that point at where it lies. Copied parcels are free at once. The others are carried until the
// kernel has sent them. A frame of several parcels isn't cut by parcels in an earlier lane.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "core/base/buffer.h"
#include "core/base/hash_table.h"
#include "core/base/limits.h"
#include "core/send/parcel.h"

struct parcel_list {
    struct parcel *first;
    struct parcel **last; // &first when empty
};

static inline void parcel_list_init(struct parcel_list *list) {
    list->first = NULL;
    list->last = &list->first;
}
static inline void parcel_list_append(struct parcel_list *list, struct parcel *parcel) {
    assert(!parcel->link && !*list->last); // it is in no list, and this one ends here
    parcel->next = NULL;
    parcel->link = list->last;
    *list->last = parcel;
    list->last = &parcel->next;
}
// Takes out a parcel that is in the list.
static inline void parcel_list_remove(struct parcel_list *list, struct parcel *parcel) {
    assert(parcel->link && *parcel->link == parcel);
    *parcel->link = parcel->next;
    if (parcel->next)
        parcel->next->link = parcel->link;
    else
        list->last = parcel->link;
    parcel->next = NULL;
    parcel->link = NULL;
}
static inline struct parcel *parcel_list_take(struct parcel_list *list) {
    struct parcel *parcel = list->first;
    assert(!parcel == (list->last == &list->first));
    if (parcel)
        parcel_list_remove(list, parcel);
    return parcel;
}
// NULL: there is none.
static inline struct parcel *parcel_list_last(const struct parcel_list *list) {
    return list->first ? (struct parcel *)((char *)list->last - offsetof(struct parcel, next)) : NULL;
}
// Moves the first of a list, up to `end`, behind all of another one.
static inline void parcel_list_move(struct parcel_list *list, struct parcel *end, struct parcel_list *to) {
    struct parcel *first = list->first;
    assert(first && end->link && !*to->last);
    list->first = end->next;
    if (end->next)
        end->next->link = &list->first;
    else
        list->last = &list->first;
    end->next = NULL;
    first->link = to->last;
    *to->last = first;
    to->last = &end->next;
}

enum {
    OUTBOX_COUNT_BITS = 27,
    OUTBOX_COUNT_MAX = (1 << OUTBOX_COUNT_BITS) - 1,
    OUTBOX_FULL_FROM = OUTBOX_COUNT_MAX / 2,     // as many wait: a frame that may be refused is refused
    OUTBOX_OVER_FROM = OUTBOX_COUNT_MAX / 4 * 3, // as many wait: the receiver is closed before more is added
    OUTBOX_PACKS_MAX = 3,                        // that wait: a cancel looks through them
    OUTBOX_PACKED_FROM =
        4, // frames that wait: the next one, the fifth, is packed. Fewer aren't worth a buffer
    OUTBOX_BUSY_FROM =
        8, // frames that waited at the last gathering: the next are packed from the first one on
    // As much may wait before a pack, so that a pack is found soon.
    OUTBOX_PACKED_BEHIND = 128 * 1024,
};

struct pack_envelope;

struct outbox {
    struct parcel_list lanes[LANES_COUNT];
    // All parcels with a hub id, by that id, or NULL. By the index a cancel takes a parcel out in constant time. A cancel that
    // comes to a long queue makes the index; the index goes when the queue is empty.
    struct hash_table *index;
    size_t bytes;          // of all parcels that wait
    uint32_t urgent_bytes; // of those in the urgent lane, with what they take besides: they are small
    uint32_t count : OUTBOX_COUNT_BITS; // parcels, and the frames of packs
    uint32_t begun : 2; // the lane that has the rest of a frame whose begin is out; else LANES_COUNT
    uint32_t packs : 2; // that wait, all in the normal lane
    bool is_busy : 1;   // OUTBOX_BUSY_FROM
};

static_assert(LANES_COUNT < 4, "a lane, or none, fits outbox.begun");

// All that waits, with what it takes besides its bytes: of small frames that is most.
static inline size_t outbox_footprint(const struct outbox *outbox) {
    return outbox->bytes + outbox->count * sizeof(struct parcel);
}

// Whether so many wait that a frame that may be refused must be. A queue of many bytes may hold more frames than its count does.
static inline bool outbox_is_full(const struct outbox *outbox) {
    return outbox->count >= OUTBOX_FULL_FROM;
}
// Whether so many wait that nothing may be added any more.
static inline bool outbox_is_over(const struct outbox *outbox) {
    return outbox->count >= OUTBOX_OVER_FROM;
}

void outbox_init(struct outbox *outbox);
// The parcel that is sent first; NULL when none waits.
static inline const struct parcel *outbox_first(const struct outbox *outbox) {
    for (unsigned lane = 0; lane < LANES_COUNT; lane++)
        if (outbox->lanes[lane].first)
            return outbox->lanes[lane].first;
    return NULL;
}
// Whether something waits in a lane that goes before the others.
static inline bool outbox_is_ahead(const struct outbox *outbox) {
    return outbox->lanes[LANE_URGENT].first || outbox->lanes[LANE_HIGH].first;
}
static inline bool outbox_empty(const struct outbox *outbox) {
    assert(outbox->count > 0 || (outbox->bytes == 0 && outbox->urgent_bytes == 0));
    return outbox->count == 0;
}
// Queues a parcel in its lane. The outbox has it until it is taken or gathered. Behind one that is unfinished
// the next in its lane must follow before anything is gathered.
void outbox_add(struct outbox *outbox, struct parcel *parcel);
// Queues several of the normal lane at once, in their order: as many, of so many bytes in all. Nothing is filed for them, so that there
// may be no table of what waits.
void outbox_add_several(struct outbox *outbox, struct parcel_list *row, uint32_t count, size_t bytes);
// Whether frames may be packed now (pack.h), as far as the queue tells.
static inline bool outbox_may_pack(const struct outbox *outbox) {
    return (outbox->is_busy || outbox->count >= OUTBOX_PACKED_FROM) && !outbox->index &&
           outbox->begun == LANES_COUNT && outbox_footprint(outbox) < OUTBOX_PACKED_BEHIND;
}
// Writes a frame to the pack at the end of the normal lane, or to a new one; arguments as of pack_add. The queue must
// allow it (outbox_may_pack). False: there is no room, or memory is tight and the frame needs a new pack. The frame must
// then go as a parcel.
bool outbox_pack(struct outbox *outbox, struct parcel_pool *parcels, struct buffer_pool *buffers,
                 const struct frame *frame, struct span value, struct piece text, uint64_t hub_id,
                 const struct pack_envelope *envelope);
// Takes a request out of the pack in which it waits. False: it waits in none.
bool outbox_unpack(struct outbox *outbox, uint64_t hub_id);
// Parcels that wait, in the normal lane alone, go out before all later ones, whatever their lane: they are of
// the protocol that was spoken before.
void outbox_seal(struct outbox *outbox);
// The first parcel that waits, taken out, or NULL.
struct parcel *outbox_take(struct outbox *outbox);

// Takes out the request that waits under this hub id, in a parcel of its own; NULL when none does. Peers decide how many wait and how
// many are cancelled, so a long queue isn't walked for each: it gets a table. Without memory for that it is.
struct parcel *outbox_remove(struct outbox *outbox, uint64_t hub_id);
// Whether it waits there.
bool outbox_has(struct outbox *outbox, uint64_t hub_id);

// Takes out the chunks of HCS that wait with this mark, in their order.
void outbox_filter(struct outbox *outbox, uint64_t stream, struct parcel_list *out);

// Memory that small parcels are copied to, shared by all sends of a turn: a receive buffer at a time.
struct stage {
    struct buffer_pool *pool;
    struct buffer *buffer; // one reference of the stage's own; NULL before the first use
    uint32_t used;
};

void stage_init(struct stage *stage, struct buffer_pool *pool);
// Begins a stage with a first buffer of so many bytes, for one shipment: at most a receive buffer's, and as far as
// there is memory.
void stage_init_sized(struct stage *stage, struct buffer_pool *pool, size_t bytes);
void stage_deinit(struct stage *stage);

enum { SHIPMENT_STAGES_MAX = 8 };

// One send: its vectors, and what they keep alive.
struct shipment {
    struct shipment *next; // in the list of free ones
    struct iovec vectors[SEND_VECTORS_MAX];
    unsigned first; // the vectors before it have been sent
    unsigned count;
    size_t bytes;               // still to be sent
    struct iovec *cut;          // the last vector of the part under way, if it is cut short; else NULL
    size_t cut_bytes;           // by how much
    struct parcel_list carried; // go home when all is sent
    struct buffer *stages[SHIPMENT_STAGES_MAX];
    unsigned stage_count;
    uint32_t since_ms; // when its part under way was begun; a tick of its sender's
};

// Empties one that is to be filled.
void shipment_begin(struct shipment *shipment);
// Adds `count` bytes to the shipment, RECEIVE_BUFFER_BYTES at most, that the caller writes to where it is told in the stage. NULL
// when there is no room for them in stage or shipment.
uint8_t *shipment_place(struct shipment *shipment, struct stage *stage, size_t count);
// Copies bytes to the stage, RECEIVE_BUFFER_BYTES at most, and adds them to the shipment. False when there is no room
// for them in stage or shipment.
bool shipment_copy(struct shipment *shipment, struct stage *stage, const void *bytes, size_t count);
// Fills an empty shipment from an outbox that isn't empty, up to the parcel with which it has `bytes_max`, and moves
// parcels that were copied to *copied. At least one parcel is taken, even where no memory is left to copy to.
void outbox_gather(struct outbox *outbox, struct stage *stage, struct shipment *shipment, size_t bytes_max,
                   struct parcel_list *copied);
// The next part to send, of up to bytes_max: that many vectors from `first` on, until the next
// shipment_advance.
unsigned shipment_part(struct shipment *shipment, size_t bytes_max);
// Notes that `bytes` more were sent, no more than the part had; false while some are left.
bool shipment_advance(struct shipment *shipment, size_t bytes);
// Lets go of the stages and moves the carried parcels to *done.
void shipment_clear(struct shipment *shipment, struct parcel_list *done);

// --- Lag
//
// Whether a receiver keeps up, judged by the bytes that wait behind each shipment to it.
//
// A kernel takes megabytes for a receiver, and those lie in a row. An urgent frame, or a cancel, comes behind
// them. A receiver for which much stands behind several shipments in a row is therefore told from those that
// keep up, however large its frames are.

enum { LAG_SHIPMENTS = 3 }; // that left much behind, in a row: it lags

// Returns the next count, when so many bytes are left behind a shipment. A receiver has caught up when less
// than a quarter is left.
static inline unsigned lag_after(unsigned lag, uint64_t behind, uint64_t much) {
    assert(lag <= LAG_SHIPMENTS);
    if (lag == LAG_SHIPMENTS)
        return behind < much / 4 ? 0 : LAG_SHIPMENTS;
    return behind > much ? lag + 1 : 0;
}
