// hub/agents: who is here, and at the other hubs.
#pragma once

#include "core/cluster/subject.h"
#include "router/engine/message/message.h"
#include "router/engine/shard/post.h"

// A request for the agents of all hubs. The query goes to shard 0, which asks the hubs, and then home to its connection's
// shard, which answers.
struct directory_query {
    struct mail mail; // its connection: who asks
    struct list link; // in shard.inquiries, of shard 0
    struct exchange *exchange;
    size_t bytes_max;           // of the result
    const struct user *user;    // who asks, of an edition that stays; NULL: users aren't on
    uint64_t number;            // under which it was asked; 0: it wasn't yet
    uint64_t asked_ms;          // when the other hubs were
    uint32_t awaited_hubs;      // that haven't answered, on shard 0
    struct text remote_agents;  // agents, with commas between them
    uint64_t counted_bytes;     // of memory that this takes at most
    struct hub_name hub;        // this one's name; bytes 0: there is no link, and so no name
    bool partial;               // a hub didn't answer, or not wholly
    bool too_large, overloaded; // there is no room for the result, or no memory
    uint32_t id_bytes, capability_bytes;
    char texts[]; // the request's id; and the capability that is asked for
};

void directory_agents(struct shard *shard, const struct message *message);
// MAIL_DIRECTORY_QUERY.
void directory_query_arrived(struct shard *shard, struct mail *mail);
// All that shall come of it has, on shard 0: it goes home.
void directory_query_end(struct shard *shard, struct directory_query *query);
// Agents of another hub's, a JSON array.
void directory_query_add(struct shard *shard, struct directory_query *query, const uint8_t *array,
                         uint32_t bytes);
// Calls `tell` for each agent that is here, that other hubs find, and that the user may call (NULL: any),
// with this capability (bytes 0: with any). The callback gets its description; `hub` is told, too. Ends when
// the callback returns false, or memory is used up: then it returns false.
bool directory_each(struct shard *shard, const struct user *user, const char *capability, size_t bytes,
                    const struct hub_name *hub, bool (*put)(void *context, const struct text *agent),
                    void *context);
static inline const char *directory_query_capability(const struct directory_query *query) {
    return query->texts + query->id_bytes;
}
