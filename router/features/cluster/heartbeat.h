// How hubs know that others are there: each beats once a second, and is gone once it has said nothing for 3.5 s. On shard 0.
#pragma once

#include "router/features/cluster/hub_message.h"

// Somebody has said something under this hub's name. NULL: the hub's own, of a link that has ended, or no memory: it counts for nothing.
struct cluster_member *heartbeat_receive(struct link *link, const struct hub_name *hub);
// A beat: what a hub says of itself. False: it can't be read.
bool heartbeat_take(struct link *link, const struct hub_message *message);
// Another hub takes this one for gone: what is under way between them ends here, too.
void heartbeat_end(struct link *link, struct cluster_member *member);
// This hub's REALM is another one: who is served is judged anew.
void heartbeat_realm(struct link *link);
void heartbeat_count(struct link *link);  // all shards are told who is served
void heartbeat_follow(struct link *link); // once a turn: says at once that somebody here listens to presence
void heartbeat_tick(struct link *link);   // who is silent is gone; once a second this hub beats
void heartbeat_beat(struct link *link);
// The hub ends: all others are told, behind all else that is said there.
void heartbeat_goodbye(struct shard *shard);
