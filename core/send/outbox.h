// The outbox: parcels that wait to be sent on one connection, and the way parcels are joined for one send.
//
// Small frames may wait together in one parcel, a pack (pack.h).
//
// Gathering takes parcels from the outbox, the first lane first. A parcel of up to COPY_BYTES_MAX is copied to the
// stage, behind its predecessor, so that many small frames become one vector. A larger parcel becomes vectors that
// point to its pieces. Copied parcels are free at once. The send_op carries the others until the kernel has sent them.
// No parcel of an earlier lane may interrupt a frame of several parcels.
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
    struct parcel **last; // &first in an empty list
};

static inline void parcel_list_init(struct parcel_list *list) {
    list->first = NULL;
    list->last = &list->first;
}
static inline void parcel_list_append(struct parcel_list *list, struct parcel *parcel) {
    assert(!parcel->link && !*list->last); // the parcel is in no list, and nothing follows the list's end
    parcel->next = NULL;
    parcel->link = list->last;
    *list->last = parcel;
    list->last = &parcel->next;
}
// Removes a parcel from the list that has it.
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
// Returns the last parcel, or NULL.
static inline struct parcel *parcel_list_last(const struct parcel_list *list) {
    return list->first ? (struct parcel *)((char *)list->last - offsetof(struct parcel, next)) : NULL;
}
// Moves the parcels of `list` from the first one up to `end` to the end of the list `to`.
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
    OUTBOX_FULL_FROM = OUTBOX_COUNT_MAX / 2, // with so many waiting, a frame that may be refused is refused
    OUTBOX_OVER_FROM = OUTBOX_COUNT_MAX / 4 * 3, // with so many waiting, the receiver is closed
    OUTBOX_PACKS_MAX = 3,                        // packs that may wait: a cancel searches all of them
    OUTBOX_PACKED_FROM =
        4, // with so many frames waiting, the next one is packed. Fewer aren't worth a buffer
    OUTBOX_BUSY_FROM =
        8, // with so many frames waiting at the last gathering, all frames are packed from the first one on
    // Bytes that may wait before a pack, so that a pack is found soon.
    OUTBOX_PACKED_BEHIND = 128 * 1024,
};

struct pack_envelope;

struct outbox {
    struct parcel_list lanes[LANES_COUNT];
    // All parcels with a hub id, by that id, or NULL. With the index a cancel removes a parcel in constant time. The
    // first cancel in a long queue makes the index. The index is dropped when the queue is empty.
    struct hash_table *index;
    size_t bytes; // bytes of all parcels that wait
    // Bytes of the parcels in the urgent lane and of their structs: these parcels are small
    uint32_t urgent_bytes;
    uint32_t count : OUTBOX_COUNT_BITS; // number of parcels that wait; of a pack, its frames count
    uint32_t begun : 2; // the lane that has the rest of a frame whose begin was taken; else LANES_COUNT
    uint32_t packs : 2; // number of packs that wait, all in the normal lane
    bool is_busy : 1;   // OUTBOX_BUSY_FROM frames waited at the last gathering
};

static_assert(LANES_COUNT < 4, "a lane, or none, fits outbox.begun");

// Returns the memory of all that waits in bytes, with the structs of the parcels: of small frames the structs are most
// of it.
static inline size_t outbox_footprint(const struct outbox *outbox) {
    return outbox->bytes + outbox->count * sizeof(struct parcel);
}

// Returns whether so many frames wait that a frame that may be refused must be. A queue that may have many bytes could
// otherwise have more frames than its count can.
static inline bool outbox_is_full(const struct outbox *outbox) {
    return outbox->count >= OUTBOX_FULL_FROM;
}
// Returns whether so many frames wait that nothing more may be added.
static inline bool outbox_is_over(const struct outbox *outbox) {
    return outbox->count >= OUTBOX_OVER_FROM;
}

void outbox_init(struct outbox *outbox);
// Returns the parcel at the head of the first lane that isn't empty, or NULL.
static inline const struct parcel *outbox_first(const struct outbox *outbox) {
    for (unsigned lane = 0; lane < LANES_COUNT; lane++)
        if (outbox->lanes[lane].first)
            return outbox->lanes[lane].first;
    return NULL;
}
// Returns whether a parcel waits in the urgent or the high lane.
static inline bool outbox_is_ahead(const struct outbox *outbox) {
    return outbox->lanes[LANE_URGENT].first || outbox->lanes[LANE_HIGH].first;
}
static inline bool outbox_empty(const struct outbox *outbox) {
    assert(outbox->count > 0 || (outbox->bytes == 0 && outbox->urgent_bytes == 0));
    return outbox->count == 0;
}
// Queues a parcel in its lane. The outbox owns the parcel until the parcel is taken or gathered. If the parcel is
// unfinished, the next parcel in its lane must follow before anything is gathered.
void outbox_add(struct outbox *outbox, struct parcel *parcel);
// Queues `count` parcels of the normal lane at once, in their order, which have `bytes` in all. The outbox must have no
// index, since none of them is added to an index.
void outbox_add_several(struct outbox *outbox, struct parcel_list *row, uint32_t count, size_t bytes);
// Returns whether the state of the queue allows packing (pack.h).
static inline bool outbox_may_pack(const struct outbox *outbox) {
    return (outbox->is_busy || outbox->count >= OUTBOX_PACKED_FROM) && !outbox->index &&
           outbox->begun == LANES_COUNT && outbox_footprint(outbox) < OUTBOX_PACKED_BEHIND;
}
// Writes a frame to the pack at the end of the normal lane, or to a new pack; arguments as of pack_add. outbox_may_pack
// must be true. Returns false if there is no room, or if the frame needs a new pack and memory is tight. The frame must
// then leave as a parcel.
bool outbox_pack(struct outbox *outbox, struct parcel_pool *parcels, struct buffer_pool *buffers,
                 const struct frame *frame, struct span value, struct piece text, uint64_t hub_id,
                 const struct pack_envelope *envelope);
// Removes a request from the pack in which it waits. Returns false if no pack has the request.
bool outbox_unpack(struct outbox *outbox, uint64_t hub_id);
// Has the waiting parcels sent before all later parcels of any lane, since they use the connection's previous protocol.
// Only the normal lane may have parcels.
void outbox_seal(struct outbox *outbox);
// Takes the first parcel from the outbox. Returns NULL if none waits.
struct parcel *outbox_take(struct outbox *outbox);

// Takes the request with this hub id from the outbox, if the request waits in a parcel of its own; else returns NULL.
// Peers decide how many requests wait and are cancelled, so a long queue gets an index. Without memory for the index,
// the queue is walked.
struct parcel *outbox_remove(struct outbox *outbox, uint64_t hub_id);
// Returns whether the request with this hub id waits in a parcel or in a pack.
bool outbox_has(struct outbox *outbox, uint64_t hub_id);

// Moves the waiting chunks of HCS with this mark to `out`, in their order.
void outbox_filter(struct outbox *outbox, uint64_t stream, struct parcel_list *out);

// Memory to which small parcels are copied, shared by all sends of a turn: one receive buffer at a time.
struct stage {
    struct buffer_pool *pool;
    struct buffer *buffer; // the stage has one reference; NULL before the first use
    uint32_t used;
};

void stage_init(struct stage *stage, struct buffer_pool *pool);
// Begins a stage for one send_op, with a first buffer of `bytes`, but at most RECEIVE_BUFFER_BYTES. Without memory the
// stage has no buffer yet.
void stage_init_sized(struct stage *stage, struct buffer_pool *pool, size_t bytes);
void stage_deinit(struct stage *stage);

enum { SEND_STAGES_MAX = 8 };

// One send operation of the ring: its vectors, and the memory that the vectors point to.
struct send_op {
    struct send_op *next; // in the list of free send_ops
    struct iovec vectors[SEND_VECTORS_MAX];
    unsigned first; // the vectors before this one have been sent
    unsigned count;
    size_t bytes;               // bytes that must still be sent
    struct iovec *cut;          // the last vector of the present part, while it is shortened; else NULL
    size_t cut_bytes;           // bytes that `cut` was shortened by
    struct parcel_list carried; // parcels that are released when all is sent
    struct buffer *stages[SEND_STAGES_MAX];
    unsigned stage_count;
    uint32_t since_ms; // when the present part was begun, as a tick of the sender's shard
};

// Empties the send_op.
void send_op_begin(struct send_op *send_op);
// Adds `count` bytes, at most RECEIVE_BUFFER_BYTES, to the send_op. The caller must write the bytes at the returned
// place in the stage. Returns NULL if stage or send_op has no room.
uint8_t *send_op_place(struct send_op *send_op, struct stage *stage, size_t count);
// Copies bytes to the stage, at most RECEIVE_BUFFER_BYTES, and adds them to the send_op. Returns false if stage or
// send_op has no room.
bool send_op_copy(struct send_op *send_op, struct stage *stage, const void *bytes, size_t count);
// Fills an empty send_op from an outbox that isn't empty, until the send_op has `bytes_max` or more. Moves copied
// parcels to *copied. At least one parcel is taken, even without memory for copies.
void outbox_gather(struct outbox *outbox, struct stage *stage, struct send_op *send_op, size_t bytes_max,
                   struct parcel_list *copied);
// Makes the next part to send, of up to bytes_max. Returns the number of its vectors, which begin at `first` and are
// valid until the next send_op_advance.
unsigned send_op_part(struct send_op *send_op, size_t bytes_max);
// Notes that `bytes` more were sent, at most those of the part. Returns false while bytes are left to send.
bool send_op_advance(struct send_op *send_op, size_t bytes);
// Drops the stages' buffers, and moves the carried parcels to *done.
void send_op_clear(struct send_op *send_op, struct parcel_list *done);

// --- Lag
//
// Tells whether a receiver keeps up, by the bytes that wait behind each send to the receiver.
//
// A kernel takes megabytes for a receiver, and an urgent frame or a cancel is sent behind these bytes. So the hub must
// know which receivers lag. A receiver lags if much waits behind several sends in a row, however large the
// receiver's frames are.

enum { LAG_SENDS = 3 }; // so many sends in a row left much waiting: the receiver lags

// Returns the new count of sends that left much waiting, after a send that left `behind` bytes. A lagging
// receiver has caught up when less than a quarter of `much` waits.
static inline unsigned lag_after(unsigned lag, uint64_t behind, uint64_t much) {
    assert(lag <= LAG_SENDS);
    if (lag == LAG_SENDS)
        return behind < much / 4 ? 0 : LAG_SENDS;
    return behind > much ? lag + 1 : 0;
}
