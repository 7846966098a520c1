// Heartbeats: each hub publishes a beat once a second, and is removed when nothing has come from it for 3.5 s. On shard
// 0.
#pragma once

#include "router/features/cluster/hub_message.h"

// Notes a message from this hub, and returns the hub's member. Returns NULL if the message doesn't count: the name is
// this hub's own, or of a link that has ended, or there is no memory.
struct cluster_member *heartbeat_receive(struct link *link, const struct hub_name *hub);
// Takes a beat. Returns false if the beat can't be read.
bool heartbeat_take(struct link *link, const struct hub_message *message);
// Ends all requests between this hub and another, because the other hub has removed this hub.
void heartbeat_end(struct link *link, struct cluster_member *member);
// Decides again which members are served, because this hub's REALM has changed.
void heartbeat_realm(struct link *link);
void heartbeat_count(struct link *link); // publishes the counts of members to all shards
// Beats at once if a client here has subscribed to presence; called once a turn
void heartbeat_follow(struct link *link);
void heartbeat_tick(struct link *link); // removes silent members, and beats once a second
void heartbeat_beat(struct link *link);
// Tells all other hubs that this hub ends. Nothing may be published after this message.
void heartbeat_goodbye(struct shard *shard);
