// Mail between shards about other hubs: the end of a request there, and the question for a name.
#pragma once

#include "core/base/list.h"

struct exchange;

// The end of a request to other hubs, on its way from the link to the request's source (router/routing/remote_end.h).

enum remote_end_kind {
    REMOTE_UNANSWERED, // no hub has whom it names: the next rule decides
    REMOTE_NOT_TAKEN,  // no hub has said that it has it
    REMOTE_LOST,       // the hub that had it is gone
    REMOTE_UNREADABLE, // its answer can't be read
    REMOTE_TOO_LARGE,  // its answer is larger than this hub takes
    REMOTE_HELD,       // it waits for approval there, and its time goes on once that has come
};

// The link's shard takes the memory from its account; whoever receives it gives it back.
struct remote_end {
    struct mail mail; // its detail: enum remote_end_kind; its connection: the link's
    uint64_t hub_id;
    uint64_t bytes;   // of an answer that is too large: of its body; 0: its header block is too large
    uint64_t wait_ms; // of one that is held: how long that may last
    uint32_t checkpoint_bytes; // of one that is held: of the text behind this
};

// The checkpoint of one that is held; checkpoint_bytes of them, in the memory of the end.
static inline char *remote_end_checkpoint(struct remote_end *end) {
    return (char *)(end + 1);
}

// A hub/attach whose agent isn't here, as it travels: to shard 0, where other hubs are asked for the name, and home.

enum attach_outcome {
    ATTACH_NOBODY, // no hub has an agent of that name
    ATTACH_HELD,
    ATTACH_SERVER, // a server of MCP at another hub has it, which serves who is at its own
    ATTACH_DOWN,   // there is no link
};

struct attach_query {
    struct mail mail; // its connection: who asks; its detail: enum attach_outcome
    struct list link; // in shard.attach_queries, on shard 0
    struct exchange *exchange;
    uint64_t number; // under which other hubs were asked; 0: they weren't yet
    uint64_t asked_ms;
    uint32_t id_bytes, agent_bytes;
    bool end_detaches; // the end of its stream is its leaving
    char texts[];      // the request's id, and the agent's
};

static inline const char *attach_query_agent(const struct attach_query *query) {
    return query->texts + query->id_bytes;
}
