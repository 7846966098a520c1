// An agentId is held once in a cluster, on shard 0: before a registration counts other hubs are asked for the name; what two hubs hold
// both of them, since interest spreads late or the hubs were apart, is judged by the one of the lesser NODE, by ages; and an answer to a
// registration waits until the server knows the names.
#pragma once

#include "core/cluster/hub_header.h"
#include "core/cluster/subject.h"
#include "router/features/cluster/link.h"

// Once a turn: asks what is to be asked, behind the subscriptions; without a link nobody is asked.
void name_claim_follow(struct link *link);
// Each tick: what has waited too long waits no more; names are said again a second after their registration.
void name_claim_tick(struct link *link);
// The link stands: who waited for another one's PONG waits for this one's.
void name_claim_link_stands(struct link *link);
// PONG came.
void name_claim_pong(struct link *link);

// Another hub asks for a name, or says that it holds the name. False: it can't be read.
bool name_claim_take(struct link *link, struct cluster_member *member, const struct hub_header *header,
                     const uint8_t *bytes, struct span token, uint64_t reply, const uint8_t *body,
                     uint32_t body_bytes);
// What another hub answers (member), or the server that nobody is there (NULL). False: nobody was asked under this number.
bool name_claim_answer(struct link *link, struct cluster_member *member, uint64_t number, const uint8_t *body,
                       uint32_t bytes);
// Another hub says that a name is to yield here. False: it can't be read.
bool name_claim_yield(struct link *link, const uint8_t *body, uint32_t bytes);
// A brief list came of what another hub holds: a JSON array.
void name_claim_compare(struct link *link, struct cluster_member *member, const uint8_t *body,
                        struct span agents);
