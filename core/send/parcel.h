// One outgoing body: a list of pieces. Most pieces are parts of the buffer in which the body came. Others are a few
// bytes of text that the hub put in place of a value. A parcel has no copy of its body, except a pack: many small
// frames in a buffer of its own (pack.h).
//
//     {"jsonrpc":"2.0","id": | 4503599627370498 | ,"method":...}
//     buffer                   text               buffer
//
// Before the body there is room for an envelope, which is added when the parcel is queued for its receiver
// (envelope.h). The envelope depends on the receiver's wire, and on the header fields that came with the body.
//
// A parcel belongs to the shard that made it, as does its buffer. The owner may lend a parcel to another shard, which
// queues and sends the parcel and then returns it; only the owner drops a parcel. For a body with many receivers, each
// receiver's parcel is a share of one original. The original may belong to another shard, and is returned to that shard
// when the last share is dropped.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "core/base/buffer.h"
#include "core/base/hash_table.h"
#include "core/base/list.h"
#include "core/base/memory.h"
#include "core/json/json.h"
#include "core/wire/wire.h"

enum {
    PARCEL_HOLES_MAX = 4, // the id and three progress tokens
    // Pieces around the holes, the holes, and one piece behind the body, of a wire or an array. (An array puts a piece
    // before a body only if the body has a single hole.)
    PARCEL_PIECES_MAX = (PARCEL_HOLES_MAX + 1) + PARCEL_HOLES_MAX + 1,
    PARCEL_TEXT_BYTES = 64,
    // The first bytes of the text, reserved for a length line and an empty line. The bytes that fill holes lie behind
    // these.
    PARCEL_HEAD_BYTES_MAX = WIRE_HEAD_BYTES_MAX + 2,
};

// The lane in which a parcel waits in an outbox. LANE_URGENT is sent first, LANE_NORMAL last.
enum parcel_lane { LANE_URGENT, LANE_HIGH, LANE_NORMAL, LANES_COUNT };

// A unit and a body in a buffer. The body is the unit's body, or a member of a batch that is the unit's body.
struct frame {
    struct buffer *buffer;
    uint32_t at; // offset of the unit in the buffer
    const struct unit *unit;
    struct span body; // offset in the buffer, and bytes
    // A line that the hub adds for receivers whose wire has header lines; or NULL. The line must stay as long as any
    // parcel of the frame.
    const struct wire_line *added;
};

static inline struct frame frame_at(struct buffer *buffer, uint32_t at, const struct unit *unit) {
    assert(buffer->references > 0 && at + unit->body_at + unit->body_bytes <= buffer->capacity);
    return (struct frame){buffer, at, unit, {at + unit->body_at, unit->body_bytes}, NULL};
}
static inline const uint8_t *frame_body(const struct frame *frame) {
    return frame->buffer->bytes + frame->body.at;
}

// Bytes of memory that lie side by side.
struct piece {
    const void *bytes;
    size_t count;
};

// Parts of an envelope behind the hub's length line: the line that the hub adds, and the header fields that came before
// and behind the length line of the body's block. Header fields that already lie before the first piece don't count.
enum { PARCEL_ADDED = 1, PARCEL_BEFORE = 2, PARCEL_AFTER = 4 };

// The fields stand in the order of their use: most parcels need four cache lines, with and without a users file.
struct parcel {
    union {
        struct mail mail; // while the parcel is lent to another shard, or returned
        // In the index of the outbox in which the parcel waits, if the outbox has an index
        struct hash_node by_hub_id;
    };
    struct parcel *next;  // the next parcel of the list that has this parcel
    struct parcel **link; // points to the pointer to this parcel in that list; NULL: no list has the parcel
    struct parcel_pool *pool;
    struct buffer *buffer;      // the parcel has one reference on the buffer; or NULL
    struct parcel *shared_from; // the parcel to which the pieces belong, or NULL
    char *text;                 // inline_text, or memory that the parcel owns
    uint64_t hub_id;            // the hub id of a forwarded request; else 0
    size_t bytes;               // bytes of all pieces, and of the envelope once the parcel is encoded
    const uint8_t *block;       // the header block that came with the body, or NULL
    union {
        const struct wire_line *added; // with has_added: as in struct frame
        char *head;                    // with long_head: the head
    };
    union {
        uint32_t added_bytes;     // with PARCEL_ADDED: bytes of the added line
        uint32_t head_text_bytes; // with long_head: bytes of the memory of `head`
    };
    uint32_t text_bytes; // bytes of the memory of `text`, unless that is inline_text
    uint32_t block_bytes;
    union {
        uint32_t line_at;    // offset of the length line in the block
        uint32_t head_count; // with has_head: bytes of the head; nothing of the block is sent then
        uint32_t requests;   // of a pack: number of requests that the pack lists
    };
    uint32_t line_bytes;
    uint32_t frames; // number of frames that the bytes are: more than 1 for a frame run or a pack
    uint32_t shares; // number of parcels that have this original, on the original's shard
    uint8_t lane;
    uint8_t head_bytes; // bytes of inline_text that are sent before all else
    // PARCEL_ADDED, PARCEL_BEFORE, PARCEL_AFTER: parts of the envelope that precede the pieces
    uint8_t head_fields;
    bool has_added : 1; // `added` is set
    bool observed : 1;  // a request that an observer gets (router/features/observe)
    bool for_many : 1;  // a share of many; such parcels may be sent in a later turn
    bool packed : 1;    // a pack: an outbox counts each of its frames (pack.h)
    uint8_t piece_count;
    uint8_t hole_count : 7; // number of holes that must still be filled
    // Queued for the present receiver alone, and not for a later one in its place (a restarted program)
    bool process_only : 1;
    uint8_t holes[PARCEL_HOLES_MAX]; // indexes of the pieces that parcel_fill sets
    bool canonical : 1;              // the block may be sent unchanged
    bool unfinished : 1;             // the body goes on in the next parcel
    bool is_encoded : 1;             // the parcel has its envelope
    bool has_head : 1;               // the parcel has a head of its own, in place of the wire's head
    bool long_head : 1;              // that head is in `head`, not in inline_text
    bool of_stream : 1;              // a chunk or a start of HCS; `stream` is set
    uint8_t breaks : 2;              // enum wire_breaks: what the line breaks of the body have become
    uint8_t note;                    // a mark that the router sets; 0: none
    char inline_text[PARCEL_TEXT_BYTES];
    struct piece pieces[PARCEL_PIECES_MAX];
    union {
        void *to; // of a frame of HCS that is lent to another shard: the client that gets the frame
        // With a note: an id that the note's user defines, such as the sender's connection; or 0
        uint64_t source;
    };
    union {
        struct span body; // of a response: the body as it came, in the buffer
        // In an outbox: of a chunk the receiver's mark (outbox_filter), of a start its session
        uint64_t stream;
    };
};

static_assert(sizeof(struct parcel) <= 384, "a parcel is made for each frame and receiver");

// Prefetches the parcel that will be made or copied next. With many messages under way, that parcel is in no near
// cache.
static inline void parcel_fetch(const struct parcel *parcel) {
    if (parcel)
        prefetch_to_write(parcel, offsetof(struct parcel, pieces) + 1);
}

struct parcel_pool {
    struct parcel *free;
    uint32_t free_count;
    uint32_t idle_count; // of free_count: parcels that weren't needed since parcel_pool_shrink
    uint32_t made;
    uint32_t shard;  // index of the shard that owns the pool; constant
    uint32_t now_us; // the low bits of the turn's clock in microseconds; set by the shard
    struct buffer_budget *budget;
    // A list of unused memory for long heads, which the budget counts. Each begins with the address of the next.
    char *heads;
    uint32_t head_count, head_idle; // head_idle: heads that weren't needed since parcel_pool_shrink
    uint32_t head_bytes;            // bytes of one head's memory, as the budget counts it
    int64_t uncounted;              // bytes of texts and the like that the budget doesn't count yet
};

void parcel_pool_init(struct parcel_pool *pool, struct buffer_budget *budget, uint32_t shard);
void parcel_pool_deinit(struct parcel_pool *pool);
// Gives back the memory of all free parcels and heads.
void parcel_pool_trim(struct parcel_pool *pool);
// Gives back the memory of parcels and heads that weren't needed since the last call.
void parcel_pool_shrink(struct parcel_pool *pool);
bool parcel_pool_full(const struct parcel_pool *pool);
// Counts bytes in the budget that parcels take (below 0: give back), such as their texts.
void parcel_pool_count(struct parcel_pool *pool, int64_t bytes);

// The following functions count the parcel's own memory in the budget. A function fails when the budget has no room for
// its use (enum budget_use).

// Makes a parcel of the unchanged body, with a reference on its buffer. Returns NULL without memory or room in the
// budget.
struct parcel *parcel_forward(struct parcel_pool *pool, const struct frame *frame);
// Makes a parcel of whole canonical frames that lie side by side, unchanged, with a reference on their buffer. The
// parcel is encoded for the framed wire alone. Returns NULL without memory or room in the budget.
struct parcel *parcel_frame_run(struct parcel_pool *pool, struct buffer *buffer, struct span frames,
                                uint32_t count);
// Returns whether the body came without header fields other than its length.
static inline bool parcel_is_bare(const struct parcel *parcel) {
    assert(parcel->hole_count == 0);
    return !parcel->block ||
           (parcel->line_at == 0 && parcel->block_bytes == parcel->line_bytes + sizeof "\r\n" - 1);
}
// Returns whether the frame may leave unchanged for the framed wire.
bool frame_is_canonical(const struct frame *frame);
// Makes a parcel of a body of which some values will be replaced: a hole for each of `values`, which are spans of
// the body in rising order. parcel_fill must follow before the parcel is sent, and may follow on another shard. Returns
// NULL without memory or room in the budget.
struct parcel *parcel_create_with_holes(struct parcel_pool *pool, const struct frame *frame,
                                        const struct span *values, unsigned count);
// Makes the same for an answer, whose id will be replaced. An answer may take the last of the budget.
struct parcel *parcel_create_response(struct parcel_pool *pool, const struct frame *frame,
                                      const struct span *id);
// Fills the holes in their order with `texts`, one for each hole. A text may be empty. Returns false without memory;
// the parcel is then unchanged.
bool parcel_fill(struct parcel *parcel, const struct piece *texts);
// Gives the parcel a head of its own, in place of the head of its receiver's wire. Returns the place for `count` bytes,
// which the caller writes. A head of more than PARCEL_HEAD_BYTES_MAX takes memory. Returns NULL without memory; the
// parcel is then unchanged. Nobody may read the block afterwards. `here` is the pool of the calling thread's shard, or
// NULL.
char *parcel_head_take(struct parcel *parcel, size_t count, struct parcel_pool *here);
// Sets the head of a parcel to a copy of these bytes. Returns false without memory.
bool parcel_set_head(struct parcel *parcel, const char *head, size_t count);
// Makes a parcel of the hub's own text, which memory_take gave, and takes the text over. The parcel may take the last
// of the budget. Returns NULL without memory or room in the budget; the caller then still owns the text.
struct parcel *parcel_from_text(struct parcel_pool *pool, char *text, size_t count);
// Adds a header line to the envelope, before the header fields that came with the body: `added` as in struct frame.
void parcel_add_line(struct parcel *parcel, const struct wire_line *added);
// Makes a parcel of this pool with all bytes of `parcel` in text of its own, so that the copy has no buffer. If
// `parcel` has no envelope yet, the copy has the body alone, without the header fields that came with the body. Returns
// NULL without memory or room in the budget.
struct parcel *parcel_copy_of(struct parcel_pool *pool, const struct parcel *parcel);
// Makes a parcel of this pool with the pieces of `original`. The original must stay until every share, and the original
// itself, has been released. Returns NULL without memory, or without room in the part of the budget that events may
// take.
struct parcel *parcel_share(struct parcel_pool *pool, struct parcel *original);
// Takes memory for `bytes` of text for the parcel, and counts the memory in the budget. Returns NULL without memory or
// room in the budget. The caller must then call parcel_retext, which replaces the whole body by the first `count` bytes
// of the text.
char *parcel_text_take(struct parcel *parcel, size_t bytes);
void parcel_retext(struct parcel *parcel, char *text, size_t count);
// Copies the body and its header block into text of the parcel's own, since other parcels may use the same bytes.
// Returns false without memory; the parcel is then unchanged.
bool parcel_copy_block(struct parcel *parcel);
// Shortens a share of a frame run to its first `frames`, which have `bytes`.
void parcel_shorten(struct parcel *parcel, size_t bytes, uint32_t frames);
// Gives the parcel back to its pool, on its owner's shard, and drops its reference on the buffer. Returns the parcel's
// original, or NULL. The caller must then count the original's shares down.
struct parcel *parcel_drop(struct parcel *parcel);

// Makes the body a part of an array: puts the static text `before` before the body, and removes the block and the added
// line.
void parcel_enclose(struct parcel *parcel, const char *before);

// Narrows a share of a frame run to one frame's unencoded body: `body` is a span of the run.
void parcel_narrow(struct parcel *parcel, struct span body);

enum { PARCEL_VECTORS_MAX = 4 + PARCEL_PIECES_MAX };
// Returns the most pieces that parcel_pieces writes for this parcel.
static inline unsigned parcel_vector_count(const struct parcel *parcel) {
    return (unsigned)parcel->piece_count + (parcel->head_bytes != 0) + (parcel->head_fields & 1u) +
           (parcel->head_fields >> 1 & 1u) + (parcel->head_fields >> 2);
}
// Writes the pieces of the parcel, with those of its head, to `out`, except empty ones. Returns their number.
unsigned parcel_pieces(const struct parcel *parcel, struct piece out[PARCEL_VECTORS_MAX]);
// Copies all bytes of the parcel, parcel->bytes in number, to `out`.
void parcel_copy(const struct parcel *parcel, uint8_t *out);

// --- Copies of frames

// A frame is saved for later, because the buffer in which it came is soon needed for other frames.

// Returns how many bytes of buffers the copy of a frame takes.
uint32_t frame_copy_bytes(const struct frame *frame);
// Saves a frame. A large body stays in the buffer in which it came. Any other body is copied with its envelope, but
// without the other members of its batch. Sets *unit to the saved frame's unit, and gives *saved a reference of its
// own. Returns false without memory; then nothing is saved.
bool frame_copy(struct buffer_pool *buffers, const struct frame *frame, struct unit *unit,
                struct frame *saved);
