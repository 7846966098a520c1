// Pending requests: a hub id on one side, the source's connection and its own id on the other.
//
// The table belongs to the source's shard. That shard alone decides how a request ends, so that each request ends once.
// A hub id is made of the shard, a slot of the table and the slot's generation. A response finds its request without a
// search, and a late response finds nothing.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/hash_table.h"
#include "core/base/limits.h"
#include "core/base/list.h"
#include "core/base/memory.h"
#include "core/base/quota.h"
#include "core/base/wheel.h"

// A UUID as a string needs no memory of its own.
enum { PENDING_ID_INLINE = 40, PENDING_CHUNK = 256, PENDING_METHOD_BYTES = 63 };

// The progress tokens that a request may carry: LSP's workDoneToken and partialResultToken, and MCP's
// _meta.progressToken.
enum pending_token { TOKEN_WORK_DONE, TOKEN_PARTIAL_RESULT, TOKEN_META, TOKENS_COUNT };

struct pending_tokens;

struct account;
struct exchange;
struct latency_row;
struct observation;
struct message_copy;
struct remote_end;
struct request_index;
struct user;

// In the order of use, a cache line each: a request that begins and is answered touches the first three and writes the last.
struct pending {
    _Alignas(CACHE_LINE_BYTES) struct timer timer; // its timeout
    struct list by_source;                         // in the list of what one source asked
    struct list by_target;                         // in the list of what one target owes
    uint32_t slot;
    union {
        struct {
            uint32_t generation : HUB_ID_GENERATION_BITS;
            bool used : 1;
            bool has_rare : 1; // the fourth line holds something (pending_mark_rare)
            bool idle : 1;     // progress begins timeout_ms anew, until limit_ms
            bool
                cancelled : 1; // a cancel is on its way to the target, or has been there (request_index_cancel)
            bool is_marked : 1; // its target's program has ended since (router/registry/registry.h)
            bool aside : 1; // another program than its target's own may have it, and then says how it ends
            bool less : 1;  // members of the group that it asks for elsewhere support less here
        };
        // All of these in one store: the hub id is read right after, and the read would wait for a bit that was stored alone.
        uint32_t state;
    };

    uint64_t source;             // connection
    uint64_t target;             // connection, the only one that may answer
    struct exchange *exchange;   // the router's, that the answer belongs to, or NULL
    struct latency_row *latency; // of whom it was forwarded to (core/agents/latency.h); the router's, or NULL
    uint64_t asked_ns;           // when it was forwarded, by the shards' clock
    struct request_index *index; // of its source, in which it counts; or NULL. Taken out before the end
    uint32_t bytes;              // that are kept for it
    uint16_t id_bytes, query_bytes;
    unsigned agent : 28; // which of its target's it is for: agent.tag
    unsigned level : 4;  // enum governance, that a request to other hubs requires
    uint32_t body_bytes;

    union { // pending_id
        char inline_id[PENDING_ID_INLINE];
        char *own_id; // where both together are longer
    };
    union {
        struct account *account; // of its source's user, in which it counts; the router's, or NULL
        struct pending *next_free;
    };
    const struct user *user; // who has sent it, of whatever edition; the router's, or NULL
    uint32_t timeout_ms;     // in which it must be answered; with idle_ms: after the last progress

    // Few requests have any of these. The pointers are NULL while has_rare isn't set, also in a free slot. by_id and limit_ms
    // may be set without the flag.
    _Alignas(CACHE_LINE_BYTES) struct mail
        *outcome; // tells the audit journal how it ended; NULL: nobody need know. Taken before the end
    struct message_copy
        *copy; // the router's: as it came, while it may be sent once more; or NULL. Taken before the end
    struct remote_end *hold; // the router's: that it is held at another hub; or NULL. Given back with it
    struct pending_tokens *tokens;   // that the source chose, or NULL
    struct observation *observation; // while somebody looks (router/features/observe); the router's, or NULL
    struct hash_node by_id;          // of the table of its source's index, if there is one (request_index.h)
    uint64_t limit_ms;               // with `idle`: when its time is up whatever comes, by the shards' clock

    // The method's first bytes, decoded, for hub/pending (router/features/observe).
    char method[PENDING_METHOD_BYTES];
    uint8_t method_bytes; // of `method` that are valid
};

// The state of a request without any flag but `used`.
#define PENDING_USED (UINT32_C(1) << HUB_ID_GENERATION_BITS)

static_assert(offsetof(struct pending, source) == CACHE_LINE_BYTES, "lists and flags fill a line");
static_assert(offsetof(struct pending, inline_id) == 2 * CACHE_LINE_BYTES,
              "so does what an answer is judged by");
static_assert(offsetof(struct pending, outcome) == 3 * CACHE_LINE_BYTES, "so does what begins with the id");
static_assert(offsetof(struct pending, method) == 4 * CACHE_LINE_BYTES && sizeof(struct pending) == 320,
              "what few have is a line, and the method is the last");

// PENDING_CHUNK slots, which are taken and given back together. A shard takes the first chunk for its first request, and keeps
// that chunk. A hub of the least memory has 768 KiB of the quota for each shard, half of it one user's. A chunk must be a
// small part of the rest: else the first request leaves others' registrations no room, or finds none.
struct pending_chunk {
    struct pending *slots; // never move; NULL: given back
    struct pending *free;
    uint32_t used;
    uint32_t generation; // from which the slots go on when they are there again
    bool idle;           // none was used since the last pending_table_shrink
    bool spread;         // the slots' generations are too far apart to go on from one of them
};

// A shard's quota where memory is least is twice the bytes of that many receive buffers (limits_memory_bytes_least).
static_assert(PENDING_CHUNK * sizeof(struct pending) <=
                  (size_t)RECEIVE_BUFFERS_PROVIDED_MIN * RECEIVE_BUFFER_BYTES / 4,
              "a chunk is an eighth of a shard's quota at most");

enum { PENDING_CHUNKS_MAX = (1 << HUB_ID_SLOT_BITS) / PENDING_CHUNK };

struct pending_table {
    struct pending_chunk *chunks; // grows
    uint32_t chunk_count;         // that have been there
    uint32_t chunk_capacity;
    uint32_t current; // chunk from which slots are taken
    uint32_t empty;   // chunks that are there, unused, and could be given back but for the first
    uint32_t absent;  // chunks that were given back
    uint32_t count;   // requests
    uint32_t shard;
    struct quota *quota;                    // the account that all of it is kept on
    uint64_t open[PENDING_CHUNKS_MAX / 64]; // bits: chunks with free slots
};

void pending_table_init(struct pending_table *table, uint32_t shard, struct quota *quota);
// Every request must have ended.
void pending_table_deinit(struct pending_table *table);
// Whether there are chunks that pending_table_shrink may give back, at its next call or the one after that.
bool pending_table_has_rest(const struct pending_table *table);
// Gives back chunks that weren't used since the last call, some at a time; the first one stays.
void pending_table_shrink(struct pending_table *table);

// A new request with the source's id, in no list and with no timer armed. NULL when memory, the bound of what
// is kept, or slots are used up.
struct pending *pending_add(struct pending_table *table, const void *id, uint32_t id_bytes);
// Keeps the tokens that the source chose: JSON texts, bytes 0 where there is none. Once a request, and before
// it counts in what its source has kept. False when memory, or the bound, is used up.
bool pending_keep_tokens(struct pending_table *table, struct pending *pending,
                         const void *const texts[TOKENS_COUNT], const uint32_t bytes[TOKENS_COUNT]);
// Keeps, behind the id, a byte and a name: what a request is asked of, where its target's connection doesn't tell that. The
// router chooses and reads both. Once a request, and before the request counts in what its source has kept. False when
// memory, or the bound, is used up.
bool pending_keep_asked(struct pending_table *table, struct pending *pending, char kind, const void *name,
                        uint32_t bytes);
// Returns the source's id, byte for byte, and behind the id the text of pending_keep_asked.
static inline const char *pending_id(const struct pending *pending) {
    bool is_inline = (uint32_t)pending->id_bytes + pending->query_bytes <= PENDING_ID_INLINE;
    return is_inline ? pending->inline_id : pending->own_id;
}
// Returns the text of pending_keep_asked, of query_bytes bytes; 0 bytes: there is none.
static inline const char *pending_asked(const struct pending *pending) {
    return pending_id(pending) + pending->id_bytes;
}
// Must be called before one of the rare fields is set.
static inline void pending_mark_rare(struct pending *pending) {
    assert(pending->used);
    pending->has_rare = true;
}
// Whether no rare field is set.
static inline bool pending_is_plain(const struct pending *pending) {
    return !pending->outcome && !pending->copy && !pending->hold && !pending->tokens && !pending->observation;
}
// A token that was kept, and its length; NULL where there is none.
const char *pending_token(const struct pending *pending, enum pending_token kind, uint32_t *bytes);
// Fetches the lines that the end of a request reads. Nothing is read here, so that any hub id may be given.
static inline __attribute__((always_inline)) void pending_fetch(const struct pending_table *table,
                                                                uint64_t hub_id) {
    uint32_t slot = (uint32_t)(hub_id >> HUB_ID_GENERATION_BITS) & ((1u << HUB_ID_SLOT_BITS) - 1);
    const struct pending *slots =
        slot / PENDING_CHUNK < table->chunk_count ? table->chunks[slot / PENDING_CHUNK].slots : NULL;
    if (slots)
        prefetch_to_write(&slots[slot % PENDING_CHUNK], offsetof(struct pending, outcome));
}
// Fetches the neighbours of a request in its lists: the request's end writes them.
static inline __attribute__((always_inline)) void pending_fetch_beside(const struct pending *pending) {
    prefetch_to_write(pending->timer.link.next, 1);
    prefetch_to_write(pending->by_source.next, 1);
    // Targets mostly answer in the order in which they were asked: the next answer of this one reads that neighbour whole.
    prefetch_to_write(list_entry(pending->by_target.next, struct pending, by_target),
                      offsetof(struct pending, outcome));
}
// The request that bears this hub id, or NULL: never given, or ended.
struct pending *pending_find(const struct pending_table *table, uint64_t hub_id);
// Which shard gave a hub id.
static inline uint32_t hub_id_shard(uint64_t hub_id) {
    return (uint32_t)(hub_id >> (HUB_ID_SLOT_BITS + HUB_ID_GENERATION_BITS));
}
// Ends one: takes it out of its lists, disarms its timer. The hub id never comes back while anyone could
// remember it.
void pending_end(struct pending_table *table, struct pending *pending);

// Returns the request's hub id, below 2^53 and never 0.
uint64_t pending_hub_id(const struct pending_table *table, const struct pending *pending);
