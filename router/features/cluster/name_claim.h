// An agentId may be held at one hub of a cluster alone. Before a registration counts, other hubs are asked for its
// name, and the registration's answer waits until the server has subscribed the names. If two hubs hold one name after
// they were apart, the hub with the lesser NODE decides by the ages. On shard 0.
#pragma once

#include "router/features/cluster/hub_message.h"

// Asks other hubs about new claims, after the subscriptions are sent. Without a link no hub is asked. Called once a
// turn.
void name_claim_follow(struct link *link);
// Ends claims that have waited too long, and publishes names again 1 s and 5 s after their registration. Called each
// tick.
void name_claim_tick(struct link *link);
// Makes registrations that waited for a PONG of the former link wait for a PONG of this link.
void name_claim_link_up(struct link *link);
// Confirms the registrations that waited for this PONG.
void name_claim_pong(struct link *link);

// Takes a message of another hub that asks for a name, or tells that it holds the name. Returns false if the message
// can't be read.
bool name_claim_take(struct link *link, const struct hub_message *message);
// Takes another hub's answer, or the server's report that no other hub has the name.
void name_claim_answer(struct link *link, const struct hub_message *message);
// Gives up a name, because another hub has decided so. Returns false if the message can't be read.
bool name_claim_yield(struct link *link, const struct hub_message *message);
// Compares the names that another hub holds with this hub's. `agents` is a JSON array of a brief list.
void name_claim_compare(struct link *link, const struct hub_message *message, struct span agents);
