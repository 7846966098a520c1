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

// A UUID as a string fits into the struct.
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

// The fields are in the order of use, a group a cache line: a request that begins and is answered reads the first three
// lines and writes the last.
struct pending {
    _Alignas(CACHE_LINE_BYTES) struct timer timer; // of the time-out
    struct list by_source;                         // in the list of the source's requests
    struct list by_target;                         // in the list of the target's requests
    uint32_t slot;
    union {
        struct {
            uint32_t generation : HUB_ID_GENERATION_BITS;
            bool used : 1;
            bool has_rare : 1;  // fields of the fourth line may be set (pending_mark_rare)
            bool idle : 1;      // progress begins timeout_ms anew, at most until limit_ms
            bool cancelled : 1; // a cancel was sent to the target (request_index_cancel)
            // The target's program has ended since the request began (router/registry/registry.h)
            bool is_marked : 1;
            bool aside : 1; // another program than the target's own may have the request, and decides its end
            bool less : 1;  // of a request to a group at other hubs: the members here support a lower level
        };
        // All flags in one store: the hub id is read right after, and that read would stall after a store of a single
        // bit.
        uint32_t state;
    };

    uint64_t source;             // the source's connection
    uint64_t target;             // the target's connection, which alone may answer
    struct exchange *exchange;   // of the router: the exchange that waits for the answer, or NULL
    struct latency_row *latency; // of the router: the target's latency (core/agents/latency.h), or NULL
    uint64_t asked_ns;           // when the request was forwarded, by the shards' clock
    struct request_index *index; // of the source; or NULL. Must be NULL before the end
    uint32_t bytes;              // quota of the request
    uint16_t id_bytes, named_target_bytes;
    unsigned agent : 28; // the tag of the target's agent (agent.tag)
    unsigned level : 4;  // enum governance: the level that a request to other hubs requires
    uint32_t body_bytes;

    union { // pending_id
        char inline_id[PENDING_ID_INLINE];
        char *own_id; // if id and query are longer together
    };
    union {
        // Of the router: the account of the source's user that counts the request, or NULL
        struct account *account;
        struct pending *next_free;
    };
    const struct user *user; // of the router: the source's user, of any edition, or NULL
    uint32_t timeout_ms;     // the time-out; with `idle`: after the last progress

    // Fields of few requests. The pointers are NULL while has_rare isn't set, also in a free slot. by_id and limit_ms
    // may be set without the flag.
    _Alignas(CACHE_LINE_BYTES) struct mail
        *outcome; // the journal entry of the request's end, or NULL. Must be NULL before the end
    // Of the router: a copy of a request that may be sent once more, or NULL. Must be NULL before the end
    struct message_copy *copy;
    // Of the router: set while another hub holds the request, or NULL. Freed with the request
    struct remote_end *remote_end;
    struct pending_tokens *tokens; // the source's progress tokens, or NULL
    // Of the router: while the request is observed (router/features/observe), or NULL
    struct observation *observation;
    struct hash_node by_id; // of the table of its source's index, if there is one (request_index.h)
    // With `idle`: the end of the time-out of the whole, by the shards' clock
    uint64_t limit_ms;

    // The method's first bytes, decoded, for hub/pending (router/features/observe).
    char method[PENDING_METHOD_BYTES];
    uint8_t method_bytes; // valid bytes of `method`
};

// The state of a request without any flag but `used`.
#define PENDING_USED (UINT32_C(1) << HUB_ID_GENERATION_BITS)

static_assert(offsetof(struct pending, source) == CACHE_LINE_BYTES,
              "the first cache line has the lists and flags");
static_assert(offsetof(struct pending, inline_id) == 2 * CACHE_LINE_BYTES,
              "the second has what a response is checked by");
static_assert(offsetof(struct pending, outcome) == 3 * CACHE_LINE_BYTES, "the third begins with the id");
static_assert(offsetof(struct pending, method) == 4 * CACHE_LINE_BYTES && sizeof(struct pending) == 320,
              "the fourth has the rare fields, and the fifth the method");

// PENDING_CHUNK slots, which are taken and given back together. A shard takes the first chunk for its first request,
// and keeps that chunk. A hub with the least memory has 768 KiB of quota for each shard, and one user may have half of
// that. A chunk must be a small part of the rest: otherwise the first request would leave no quota for registrations,
// or find none itself.
struct pending_chunk {
    struct pending *slots; // never move; NULL: the chunk was given back
    struct pending *free;
    uint32_t used;
    uint32_t generation; // from which the slots go on when the chunk is taken again
    bool idle;           // no slot was used since the last pending_table_shrink
    bool spread;         // the slots' generations are too far apart to go on from one of them
};

// With the least memory, a shard's quota is twice the bytes of that many receive buffers (limits_memory_bytes_least).
static_assert(PENDING_CHUNK * sizeof(struct pending) <=
                  (size_t)RECEIVE_BUFFERS_PROVIDED_MIN * RECEIVE_BUFFER_BYTES / 4,
              "a chunk is an eighth of a shard's quota at most");

enum { PENDING_CHUNKS_MAX = (1 << HUB_ID_SLOT_BITS) / PENDING_CHUNK };

struct pending_table {
    struct pending_chunk *chunks; // grows
    uint32_t chunk_count;         // chunks that were ever taken
    uint32_t chunk_capacity;
    uint32_t current; // the chunk from which slots are taken
    uint32_t empty;   // unused chunks that weren't given back
    uint32_t absent;  // chunks that were given back
    uint32_t count;   // pending requests
    uint32_t shard;
    struct quota *quota;                    // the quota of all this
    uint64_t open[PENDING_CHUNKS_MAX / 64]; // bits: chunks with free slots
};

void pending_table_init(struct pending_table *table, uint32_t shard, struct quota *quota);
// Frees the table. Every request must have ended.
void pending_table_deinit(struct pending_table *table);
// Returns whether pending_table_shrink may give chunks back, at its next call or the one after that.
bool pending_table_has_unused(const struct pending_table *table);
// Gives back chunks that weren't used since the last call, a few at a time. The first chunk stays.
void pending_table_shrink(struct pending_table *table);

// Adds a request with the source's id, in no list and with no timer armed. Returns NULL without memory, quota or slots.
struct pending *pending_add(struct pending_table *table, const void *id, uint32_t id_bytes);
// Keeps the source's progress tokens: JSON texts; bytes 0: no such token. Once a request, and before request_index_add.
// Returns false without memory or quota.
bool pending_keep_tokens(struct pending_table *table, struct pending *pending,
                         const void *const texts[TOKENS_COUNT], const uint32_t bytes[TOKENS_COUNT]);
// Keeps a byte and a name behind the id: the target that a request to other hubs names. The router chooses and reads
// both. Once a request, and before request_index_add. Returns false without memory or quota.
bool pending_keep_named_target(struct pending_table *table, struct pending *pending, char kind,
                               const void *name, uint32_t bytes);
// Returns the source's id, byte for byte, and behind the id the text of pending_keep_named_target.
static inline const char *pending_id(const struct pending *pending) {
    bool is_inline = (uint32_t)pending->id_bytes + pending->named_target_bytes <= PENDING_ID_INLINE;
    return is_inline ? pending->inline_id : pending->own_id;
}
// Returns the text of pending_keep_named_target, named_target_bytes long; 0 bytes: there is none.
static inline const char *pending_named_target(const struct pending *pending) {
    return pending_id(pending) + pending->id_bytes;
}
// Notes that a rare field is set. Must be called before.
static inline void pending_mark_rare(struct pending *pending) {
    assert(pending->used);
    pending->has_rare = true;
}
// Returns whether no rare field is set.
static inline bool pending_is_plain(const struct pending *pending) {
    return !pending->outcome && !pending->copy && !pending->remote_end && !pending->tokens &&
           !pending->observation;
}
// Returns a token of the source, and its length; NULL: there is none.
const char *pending_token(const struct pending *pending, enum pending_token kind, uint32_t *bytes);
// Prefetches the lines that the end of a request reads. Reads nothing, so any hub id may be given.
static inline __attribute__((always_inline)) void pending_fetch(const struct pending_table *table,
                                                                uint64_t hub_id) {
    uint32_t slot = (uint32_t)(hub_id >> HUB_ID_GENERATION_BITS) & ((1u << HUB_ID_SLOT_BITS) - 1);
    const struct pending *slots =
        slot / PENDING_CHUNK < table->chunk_count ? table->chunks[slot / PENDING_CHUNK].slots : NULL;
    if (slots)
        prefetch_to_write(&slots[slot % PENDING_CHUNK], offsetof(struct pending, outcome));
}
// Prefetches the neighbours of a request in its lists, to which the request's end writes.
static inline __attribute__((always_inline)) void pending_fetch_beside(const struct pending *pending) {
    prefetch_to_write(pending->timer.link.next, 1);
    prefetch_to_write(pending->by_source.next, 1);
    // Targets mostly answer in the order of their requests: the target's next answer reads the whole neighbour.
    prefetch_to_write(list_entry(pending->by_target.next, struct pending, by_target),
                      offsetof(struct pending, outcome));
}
// Returns the request with this hub id; NULL: there is none, or it has ended.
struct pending *pending_find(const struct pending_table *table, uint64_t hub_id);
// Returns the shard of a hub id.
static inline uint32_t hub_id_shard(uint64_t hub_id) {
    return (uint32_t)(hub_id >> (HUB_ID_SLOT_BITS + HUB_ID_GENERATION_BITS));
}
// Ends a request: removes it from its lists and disarms its timer. Its hub id isn't used again for so long that a late
// response can't meet it.
void pending_end(struct pending_table *table, struct pending *pending);

// Returns the request's hub id, below 2^53 and never 0.
uint64_t pending_hub_id(const struct pending_table *table, const struct pending *pending);
