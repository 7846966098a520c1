// hub/agents of all hubs, on shard 0: each hub answers in parts. With a brief list a hub compares another hub's names
// with its own.
#pragma once

#include "router/features/cluster/hub_message.h"

// Sends new queries to other hubs. Without a link, ends the queries with this hub's agents alone. Called once a turn.
void remote_directory_follow(struct link *link);
// Ends queries that have waited too long with the answers that have come. Called each tick.
void remote_directory_tick(struct link *link);
// Asks a hub for its agents: a brief list, or a list for presence. Returns the number of the question.
uint64_t remote_directory_ask(struct link *link, const struct cluster_member *member, const char *json);
// Takes a part of a hub's answer. `agents` is a JSON array.
void remote_directory_take(struct link *link, const struct hub_message *message, struct span agents);
// Answers a hub that asks for agents. Returns false if the message has no subject for the answer.
bool remote_directory_answer(struct link *link, const struct hub_message *message);
