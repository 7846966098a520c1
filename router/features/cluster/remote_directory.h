// hub/agents of all hubs, on shard 0: hubs answer in parts. A brief list is what a hub compares with its own names.
#pragma once

#include "router/features/cluster/hub_message.h"

// Once a turn: asks what is to be asked; without a link nobody is.
void remote_directory_follow(struct link *link);
// Each tick: what has waited too long is answered with what has come.
void remote_directory_tick(struct link *link);
// Asks a hub for its agents: brief, or for presence. Returns under which number.
uint64_t remote_directory_ask(struct link *link, const struct cluster_member *member, const char *json);
// A part came from a hub: a JSON array.
void remote_directory_take(struct link *link, const struct hub_message *message, struct span agents);
// A hub asks who is here. False: it takes no answer.
bool remote_directory_answer(struct link *link, const struct hub_message *message);
