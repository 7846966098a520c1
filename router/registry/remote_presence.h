// The agents of each other hub, kept on shard 0 as long as this hub has subscribers of presence. Subscribers are told
// when such agents come and go. When a hub is gone, subscribers are told that all its agents have left.
//
// A hub is asked for its agents once, and then tells each change. Agents that the hub had before the first subscription
// here aren't told; agents of a hub that comes later are. An agent for which there is no memory isn't kept. When its
// hub goes, subscribers are told that they have missed a change.
#pragma once

#include "core/agents/name_map.h"
#include "core/base/list.h"
#include "router/engine/shard/shard.h"

struct remote_presence {
    struct name_map by_id;
    struct list all;      // of agents
    bool is_partial;      // agents may be missing
    bool is_news;         // the hub came after the first subscription here
    uint64_t list_number; // of the question for the hub's agents; 0: not asked
};

static inline void remote_presence_init(struct remote_presence *presence, const struct siphash_key *key,
                                        struct quota *quota) {
    *presence = (struct remote_presence){.is_news = true};
    name_map_init(&presence->by_id, key, quota);
    list_init(&presence->all);
}
// Applies a change that the hub tells: an object of a valid text with agentId, and reason or governanceLevel. Returns
// false if the change can't be read.
bool remote_presence_take(struct shard *shard, struct remote_presence *presence, const struct hub_name *hub,
                          const uint8_t *text, struct span change);
// Takes a part of the list of the hub's agents: an array of objects as in hub/agents, of a valid text. `is_last`: the
// last part.
void remote_presence_list(struct shard *shard, struct remote_presence *presence, const struct hub_name *hub,
                          const uint8_t *text, struct span agents, bool is_last);
// Tells subscribers that all agents of the hub have left.
void remote_presence_lose(struct shard *shard, struct remote_presence *presence, const struct hub_name *hub);
// Forgets the hub's agents, since this hub has no subscriber any more.
void remote_presence_forget(struct shard *shard, struct remote_presence *presence);
