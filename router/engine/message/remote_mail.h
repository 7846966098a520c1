// Mail between shards about other hubs: the end of a request, and the query for an agent's name.
#pragma once

#include "core/base/list.h"

struct exchange;

// The end of a request to other hubs, sent from the link's shard to the source's shard (router/routing/remote_end.h).

enum remote_end_kind {
    REMOTE_UNANSWERED, // no hub has the target: the next rule decides
    REMOTE_NOT_TAKEN,  // no hub has acknowledged the request
    REMOTE_LOST,       // the hub with the request has left
    REMOTE_UNREADABLE, // the answer can't be read
    REMOTE_TOO_LARGE,  // the answer is larger than this hub allows
    REMOTE_HELD,       // the request waits for approval there; its time-out is stopped until then
};

// The link's shard takes the memory. The receiver gives the memory back.
struct remote_end {
    struct mail mail; // detail: enum remote_end_kind; connection: the link's
    uint64_t hub_id;
    uint64_t bytes;   // with REMOTE_TOO_LARGE: of the answer's body; 0: its header block is too large
    uint64_t wait_ms; // with REMOTE_HELD: how long the hold may last
    uint32_t checkpoint_bytes; // with REMOTE_HELD: of the checkpoint behind this struct
};

// Returns the checkpoint of a held request, checkpoint_bytes long, in the memory of the end.
static inline char *remote_end_checkpoint(struct remote_end *end) {
    return (char *)(end + 1);
}

// A hub/attach to an agent that isn't at this hub. The query goes to shard 0, which asks the other hubs, and back.

enum attach_outcome {
    ATTACH_NOBODY, // no hub has an agent of that name
    ATTACH_FOUND,
    ATTACH_SERVER, // the name is of an MCP server at another hub, which serves that hub's peers alone
    ATTACH_DOWN,   // the link is down
};

struct attach_query {
    struct mail mail; // connection: of the peer that asks; detail: enum attach_outcome
    struct list link; // in shard.attach_queries, on shard 0
    struct exchange *exchange;
    uint64_t number; // of the query to other hubs; 0: they weren't asked yet
    uint64_t asked_ms;
    uint32_t id_bytes, agent_bytes;
    bool end_detaches; // the end of the peer's stream means that the peer has left
    char texts[];      // the request's id, then the agent's name
};

static inline const char *attach_query_agent(const struct attach_query *query) {
    return query->texts + query->id_bytes;
}
