// An agentId is held once in a cluster: other hubs are asked for a name before its registration counts, and the answer waits until the
// server knows the names. Where two hubs hold one, since they were apart, the one of the lesser NODE judges, by ages. On shard 0.
#pragma once

#include "router/features/cluster/hub_message.h"

// Once a turn: asks what is to be asked, behind the subscriptions; without a link nobody is asked.
void name_claim_follow(struct link *link);
// Each tick: what has waited too long waits no more; names are said again a second after their registration.
void name_claim_tick(struct link *link);
// The link stands: who waited for another one's PONG waits for this one's.
void name_claim_link_stands(struct link *link);
// PONG came.
void name_claim_pong(struct link *link);

// Another hub asks for a name, or says that it holds the name. False: it can't be read.
bool name_claim_take(struct link *link, const struct hub_message *message);
// Takes another hub's answer, or the server's that nobody is there.
void name_claim_answer(struct link *link, const struct hub_message *message);
// Another hub says that a name is to yield here. False: it can't be read.
bool name_claim_yield(struct link *link, const struct hub_message *message);
// A brief list came of what another hub holds: a JSON array.
void name_claim_compare(struct link *link, const struct hub_message *message, struct span agents);
