// One body on its way out: a list of pieces. Most pieces are stretches of the buffer in which the body came
// in, some a few bytes of text that the hub put in their place. A parcel holds no copy of its body. A pack
// alone does: many small frames in a buffer of its own (pack.h).
//
//     {"jsonrpc":"2.0","id": | 4503599627370498 | ,"method":...}
//     buffer                   text               buffer
//
// Before the body there is room for an envelope, which is put on when the parcel is queued for its receiver
// (envelope.h). The envelope depends on the receiver's wire, and on the header fields that came with the
// body.
//
// A parcel belongs to the shard that made it, as does the buffer it refers to. A parcel may be lent to
// another shard, which queues and sends it and then returns it; only its owner drops it. Where one body goes
// to many, each receiver's parcel is a share of one origin, which may be another shard's: the origin goes
// home when the last share is gone.
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
    // Pieces around the holes, the holes, and the bytes that a wire or an array puts behind a body. (The
    // bytes that an array puts before one stand where there is one hole alone.)
    PARCEL_PIECES_MAX = (PARCEL_HOLES_MAX + 1) + PARCEL_HOLES_MAX + 1,
    PARCEL_TEXT_BYTES = 64,
    // Bytes of them that stand before all others: a length line and an empty one. Behind them lie the bytes
    // that fill holes.
    PARCEL_HEAD_BYTES_MAX = WIRE_HEAD_BYTES_MAX + 2,
};

// Where it waits in an outbox: what is sent first, last.
enum parcel_lane { LANE_URGENT, LANE_HIGH, LANE_NORMAL, LANES_COUNT };

// A unit and a body as they lie in a buffer. The body is the unit's, or a member of the batch that is.
struct frame {
    struct buffer *buffer;
    uint32_t at; // of the unit
    const struct unit *unit;
    struct span body; // of the buffer
    // The line that the hub adds for receivers with header lines; NULL: none. The line stays as long as any
    // parcel could.
    const struct wire_line *added;
};

static inline struct frame frame_at(struct buffer *buffer, uint32_t at, const struct unit *unit) {
    assert(buffer->references > 0 && at + unit->body_at + unit->body_bytes <= buffer->capacity);
    return (struct frame){buffer, at, unit, {at + unit->body_at, unit->body_bytes}, NULL};
}
static inline const uint8_t *frame_body(const struct frame *frame) {
    return frame->buffer->bytes + frame->body.at;
}

// A stretch of memory.
struct piece {
    const void *bytes;
    size_t count;
};

// Parts of an envelope behind its length line: the line that the hub adds, and the fields that stood before
// and behind the length line of the block that came with the body. Fields that lie there already don't count.
enum { PARCEL_ADDED = 1, PARCEL_BEFORE = 2, PARCEL_AFTER = 4 };

// In the order of their use: what most parcels need lies in four cache lines, with users as without.
struct parcel {
    union {
        struct mail mail;           // while it travels between shards
        struct hash_node by_hub_id; // of the index of the outbox in which it waits, if it has one
    };
    struct parcel *next;  // in the one list that it is in
    struct parcel **link; // what points at it there; NULL: it is in none
    struct parcel_pool *pool;
    struct buffer *buffer; // one reference, or NULL
    struct parcel *origin; // whose pieces these are, or NULL
    char *text;            // inline_text, or memory of its own
    uint64_t hub_id;       // of a forwarded request; else 0
    size_t bytes;          // of the envelope, once it is on, and of all pieces together
    const uint8_t *block;  // the header block that came with the body, or NULL
    union {
        const struct wire_line *added; // with has_added: as in struct frame
        char *head;                    // where it has a long one
    };
    union {
        uint32_t added_bytes;     // of its text, with PARCEL_ADDED
        uint32_t head_text_bytes; // of the head, where it is memory of its own
    };
    uint32_t text_bytes; // likewise of the text
    uint32_t block_bytes;
    union {
        uint32_t line_at; // its length line
        uint32_t
            head_count; // of the head's bytes, where it has one of its own: then nothing of the block leaves
        uint32_t requests; // of a pack: that it lists
    };
    uint32_t line_bytes;
    uint32_t frames; // that these bytes are: more than one of a stretch
    uint32_t shares; // parcels of which this is the origin, on the shard that has it
    uint8_t lane;
    uint8_t head_bytes;  // of inline_text, that stand before all else
    uint8_t head_fields; // PARCEL_ADDED, PARCEL_BEFORE, PARCEL_AFTER: what stands before the pieces
    bool has_added : 1;  // `added` is set
    bool observed : 1;   // a request that somebody looks at (router/features/observe)
    bool for_many : 1;   // one of many receivers' shares: the turn's sends needn't all be made for them
    bool packed : 1;     // a pack, whose frames count each in an outbox (pack.h)
    uint8_t piece_count;
    uint8_t hole_count : 7;          // still to be filled
    bool bound : 1;                  // queued for who is there now, and for nobody who comes in its place
    uint8_t holes[PARCEL_HOLES_MAX]; // the pieces that the spliced values fill
    bool canonical : 1;              // the block may stay as it lies
    bool unfinished : 1;             // the body goes on in the parcel behind it
    bool dressed : 1;                // the envelope is on
    bool has_head : 1;               // of its own, in place of its receiver's wire's
    bool long_head : 1;              // and it lies in `head`, not in inline_text
    bool of_stream : 1;              // a chunk or a start of HCS, and `stream` is set
    uint8_t breaks : 2;              // enum wire_breaks: what has become of those in its body
    uint8_t note;                    // of the router's; 0: none
    char inline_text[PARCEL_TEXT_BYTES];
    struct piece pieces[PARCEL_PIECES_MAX];
    union {
        void *to;        // of a frame of HCS that travels: for whom
        uint64_t source; // before that, with a note: the connection that sent it, or 0
    };
    union {
        struct span body; // of the buffer: of a response, as it came
        uint64_t stream;  // queued: of a chunk its receiver's mark (outbox_sift), of a start its session
    };
};

static_assert(sizeof(struct parcel) <= 384, "a parcel is made for each frame and receiver");

// The one that is next to be made, or copied: it will be wanted soon, and nobody has looked at it for long. Where many
// messages are under way it lies in no near cache.
static inline void parcel_fetch(const struct parcel *parcel) {
    if (parcel)
        prefetch_to_write(parcel, offsetof(struct parcel, pieces) + 1);
}

struct parcel_pool {
    struct parcel *free;
    uint32_t free_count;
    uint32_t idle_count; // of those, how many weren't needed since parcel_pool_shrink
    uint32_t made;
    uint32_t shard;  // whose it is; constant
    uint32_t now_us; // of the turn under way, which its shard says: the low bits
    struct buffer_budget *budget;
    // Memory of heads at rest, which the budget counts. Each begins with the address of the next.
    char *heads;
    uint32_t head_count, head_idle; // head_idle: how many weren't needed since parcel_pool_shrink
    uint32_t head_bytes;            // of each, as it is counted
    int64_t unsettled;              // bytes of texts and the like that the budget doesn't count yet
};

void parcel_pool_init(struct parcel_pool *pool, struct buffer_budget *budget, uint32_t shard);
void parcel_pool_deinit(struct parcel_pool *pool);
// Gives the memory of the parcels at rest back.
void parcel_pool_trim(struct parcel_pool *pool);
// Gives back the memory of parcels that have been at rest since the last call.
void parcel_pool_shrink(struct parcel_pool *pool);
bool parcel_pool_full(const struct parcel_pool *pool);
// Counts bytes in the budget that are taken (below 0: given back) for parcels on their way, as their texts
// are.
void parcel_pool_count(struct parcel_pool *pool, int64_t bytes);

// Each takes room in the budget for what the parcel takes itself, and finds none where its use of the budget
// has none (buffer.h).

// The body as it lies. Takes a reference on its buffer. NULL when memory or the budget is used up, as below.
struct parcel *parcel_forward(struct parcel_pool *pool, const struct frame *frame);
// Makes a parcel of whole canonical frames that lie side by side, as they lie: likewise. The parcel is
// dressed for the framed wire, and for no other.
struct parcel *parcel_stretch(struct parcel_pool *pool, struct buffer *buffer, struct span frames,
                              uint32_t count);
// Whether no header fields came with it but its length.
static inline bool parcel_is_bare(const struct parcel *parcel) {
    assert(parcel->hole_count == 0);
    return !parcel->block ||
           (parcel->line_at == 0 && parcel->block_bytes == parcel->line_bytes + sizeof "\r\n" - 1);
}
// Whether the frame lies as it would leave for the framed wire.
bool parcel_passes(const struct frame *frame);
// Makes a parcel of the body with values in it to be replaced: a hole for each of `values`, which are
// stretches of the body in rising order. parcel_fill must follow before the parcel is sent; that may happen
// on another shard. NULL when memory is used up.
struct parcel *parcel_open(struct parcel_pool *pool, const struct frame *frame, const struct span *values,
                           unsigned count);
// Makes the same for an answer, whose id is to be replaced. An answer may take the last of the budget.
struct parcel *parcel_open_answer(struct parcel_pool *pool, const struct frame *frame, const struct span *id);
// Fills the holes in their order with `texts`, as many as there are holes. An empty text leaves nothing.
// False when memory is used up; the parcel is then as before.
bool parcel_fill(struct parcel *parcel, const struct piece *texts);
// Has the parcel leave with a head of its own, in place of the one that its receiver's wire puts before a
// body: `count` bytes, which the caller writes at the returned place. A head of more than
// PARCEL_HEAD_BYTES_MAX takes memory. NULL when that is used up, and nothing has changed. The block must not
// be asked for any more. `here` is the pool of the calling thread's shard, or NULL.
char *parcel_head_take(struct parcel *parcel, size_t count, struct parcel_pool *here);
// Sets the head of a parcel to a copy of these bytes; false without memory.
bool parcel_set_head(struct parcel *parcel, const char *head, size_t count);
// Makes a body of the hub's own: takes `text`, which memory_take gave. The parcel may take the last of the
// budget. NULL when memory or the budget is used up; the text is then still the caller's.
struct parcel *parcel_own(struct parcel_pool *pool, char *text, size_t count);
// Has a header line go out with it, before those that came with the body: `added` as in struct frame.
void parcel_add_line(struct parcel *parcel, const struct wire_line *added);
// Makes a parcel of this pool with all bytes of `parcel` in text of its own, so that the copy keeps no buffer. The copy of
// a parcel that has no envelope yet has the body alone, without the header fields that came with the body. NULL when
// memory or the budget is used up.
struct parcel *parcel_copy_of(struct parcel_pool *pool, const struct parcel *parcel);
// A parcel of this pool with the pieces of `origin`, which stays until it has been let go as often as it was
// shared, and once more. NULL when memory is used up, or the part of the budget that events may take.
struct parcel *parcel_share(struct parcel_pool *pool, struct parcel *origin);
// Takes memory for so many bytes of text of the parcel's, counted; NULL when memory is used up. The text must
// be given to parcel_retext, which makes its first `count` bytes the body in place of all that the body was.
char *parcel_text_take(struct parcel *parcel, size_t bytes);
void parcel_retext(struct parcel *parcel, char *text, size_t count);
// Copies the body and the header block that came with it, which others may have too, into text of the parcel's own. False
// without memory: the parcel is then as before.
bool parcel_own_block(struct parcel *parcel);
// Shortens a share of a stretch to its first frames.
void parcel_shorten(struct parcel *parcel, size_t bytes, uint32_t frames);
// Gives it back, on its owner's shard: the buffer's reference is dropped. Returns the origin that has been
// shared once less now, or NULL.
struct parcel *parcel_drop(struct parcel *parcel);

// Makes the body a part of an array: puts a mark before it, a static text, and takes away what came with it.
void parcel_enclose(struct parcel *parcel, const char *before);

// Leaves one frame's body of a share of a stretch, undressed: `body` is a span of the stretch.
void parcel_narrow(struct parcel *parcel, struct span body);

enum { PARCEL_STRETCHES_MAX = 4 + PARCEL_PIECES_MAX };
// How many stretches of memory parcel_pieces gives at most.
static inline unsigned parcel_stretches(const struct parcel *parcel) {
    return (unsigned)parcel->piece_count + (parcel->head_bytes != 0) + (parcel->head_fields & 1u) +
           (parcel->head_fields >> 1 & 1u) + (parcel->head_fields >> 2);
}
// Writes down where its bytes lie, those stretches that are not empty; returns how many.
unsigned parcel_pieces(const struct parcel *parcel, struct piece out[PARCEL_STRETCHES_MAX]);
// Copies all of its bytes, parcel->bytes in all, to `out`.
void parcel_copy(const struct parcel *parcel, uint8_t *out);

// --- Copies of frames

// A frame that is saved for later, when the buffer in which it came is long needed for others.

// How many bytes of buffers keeping a frame takes.
uint32_t frame_copy_bytes(const struct frame *frame);
// Keeps a frame: a large body stays in the buffer in which it came; else it is copied with its envelope, but without what stood
// between them in a batch. `unit` is its unit from then on, and *saved has a reference of its own. False without memory: then
// nothing is saved.
bool frame_copy(struct buffer_pool *buffers, const struct frame *frame, struct unit *unit,
                struct frame *saved);
