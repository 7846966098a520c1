// Answers hub/agents: the agents of this hub, and of the other hubs.
#pragma once

#include "core/cluster/subject.h"
#include "router/engine/message/message.h"
#include "router/engine/shard/post.h"

// A query for the agents of all hubs. The query goes to shard 0, which asks the hubs, and back to the connection's
// shard, which answers.
struct directory_query {
    struct mail mail; // connection: of the peer that asks
    struct list link; // in shard.directory_queries, of shard 0
    struct exchange *exchange;
    size_t bytes_max; // of the result
    // Of the peer that asks, valid for the query's life; NULL: there is no users file
    const struct user *user;
    uint64_t number;            // of the question to the other hubs; 0: not asked yet
    uint64_t asked_ms;          // when the other hubs were asked
    uint32_t awaited_hubs;      // hubs that haven't answered
    struct text remote_agents;  // agents, with commas between them
    uint64_t counted_bytes;     // the most memory that the query takes, as counted
    struct hub_name hub;        // this hub's name; bytes 0: there is no link
    bool partial;               // a hub didn't answer, or not completely
    bool too_large, overloaded; // the result is too large for a frame; memory is used up
    uint32_t id_bytes, capability_bytes;
    char texts[]; // the request's id, then the wanted capability
};

// Answers a request hub/agents.
void directory_agents(struct shard *shard, const struct message *message);
// Handles MAIL_DIRECTORY_QUERY.
void directory_query_arrived(struct shard *shard, struct mail *mail);
// Ends a query on shard 0: sends it back to its connection's shard.
void directory_query_end(struct shard *shard, struct directory_query *query);
// Adds agents of another hub, a JSON array.
void directory_query_add(struct shard *shard, struct directory_query *query, const uint8_t *array,
                         uint32_t bytes);
// Calls `put` for each agent of this hub that other hubs can reach, that the user may call (NULL: any agent), and that
// has this capability (bytes 0: any). `put` gets the agent's description, which names `hub`. Ends and returns false
// when `put` returns false, or without memory.
bool directory_each(struct shard *shard, const struct user *user, const char *capability, size_t bytes,
                    const struct hub_name *hub, bool (*put)(void *context, const struct text *agent),
                    void *context);
static inline const char *directory_query_capability(const struct directory_query *query) {
    return query->texts + query->id_bytes;
}
