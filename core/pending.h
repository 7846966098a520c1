// Requests under way: a hub id on one side, the source's connection and its own id on the other.
//
// The table is the source's shard's; it alone decides how a request ends, and so each ends once. A hub id is
// made of the shard, a slot of the table and the slot's generation, so that a response finds its request
// without a search and a late one finds nothing.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/limits.h"
#include "core/list.h"
#include "core/mail.h"
#include "core/wheel.h"

enum { PENDING_ID_INLINE = 24, PENDING_CHUNK = 1024 };

// The progress tokens that a request may carry: LSP's workDoneToken and partialResultToken, and MCP's
// _meta.progressToken.
enum pending_token { TOKEN_WORK_DONE, TOKEN_PARTIAL_RESULT, TOKEN_META, TOKENS_COUNT };

struct pending_tokens;

struct batch;

struct pending {
    struct timer timer;    // its timeout
    struct list by_source; // in the list of what one source asked
    struct list by_id;     // in the table of that list, if it has one (asked.h)
    struct list by_target; // in the list of what one target owes
    uint64_t source;       // connection
    uint64_t target;       // connection, the only one that may answer
    struct batch *batch;   // the router's, that the answer belongs to, or NULL
    struct mail
        *outcome; // tells the audit journal how it ended; NULL: nobody need know. Taken before the end
    struct pending *next_free;
    struct pending_tokens *tokens; // that the source chose, or NULL
    char *id;                      // the source's, byte for byte: inline_id or memory of its own
    uint32_t id_bytes;
    uint32_t slot;
    uint32_t generation;
    uint32_t timeout_ms;
    bool used;
    bool cancelled; // a cancel is on its way to the target, or has been there (asked_cancel)
    char inline_id[PENDING_ID_INLINE];
};

struct pending_table {
    struct pending **chunks; // grows; a chunk never moves
    uint32_t chunk_count;
    uint32_t chunk_capacity;
    struct pending *free;
    uint32_t count; // in use
    uint32_t shard;
};

void pending_table_init(struct pending_table *table, uint32_t shard);
// Every request must have ended.
void pending_table_deinit(struct pending_table *table);

// A new request with the source's id, in no list and with no timer armed. NULL when memory or slots are used
// up.
struct pending *pending_add(struct pending_table *table, const void *id, uint32_t id_bytes);
// Keeps the tokens that the source chose: JSON texts, bytes 0 where there is none. Once a request. False when
// memory is used up.
bool pending_keep_tokens(struct pending *pending, const void *const texts[TOKENS_COUNT],
                         const uint32_t bytes[TOKENS_COUNT]);
// A token that was kept, and its length; NULL where there is none.
const char *pending_token(const struct pending *pending, enum pending_token which, uint32_t *bytes);
// The request that bears this hub id, or NULL: never given, or ended.
struct pending *pending_find(const struct pending_table *table, uint64_t hub_id);
// Ends one: takes it out of its lists, disarms its timer. The hub id never comes back while anyone could
// remember it.
void pending_end(struct pending_table *table, struct pending *pending);

// Its hub id, below 2^53 and never 0.
uint64_t pending_hub_id(const struct pending_table *table, const struct pending *pending);
// Which shard gave a hub id.
static inline uint32_t hub_id_shard(uint64_t hub_id) {
    return (uint32_t)(hub_id >> (HUB_ID_SLOT_BITS + HUB_ID_GENERATION_BITS));
}
