// Requests of this hub's that are with others, by their hub ids, on shard 0: who has taken each, and how each ends.
#pragma once

#include "router/features/cluster/link_state.h"

struct hub_message;

void outbound_request_init(struct outbound_requests *requests, const struct siphash_key *key,
                           struct quota *quota);
// The link is lost: their sources' shards end them. All that a member has taken, or that nobody has.
void outbound_request_forget(struct outbound_requests *requests, struct list *all);
void outbound_request_deinit(struct outbound_requests *requests);

// As struct transport has them: what is queued for the link, and what is cancelled there.
bool outbound_request_divert(struct shard *shard, struct peer *peer, struct parcel *parcel);
bool outbound_request_note(struct shard *shard, struct peer *peer, uint64_t hub_id);
bool outbound_request_cancel(struct shard *shard, struct peer *peer, struct parcel *parcel, bool lasts);

// An answer of another hub, of a client of the server, or the server's word that nobody is there. False: no request has its number.
bool outbound_request_answer(struct link *link, struct hub_message *message);
// A hub has taken some: a JSON array of numbers. False: it can't be read.
bool outbound_request_taken(struct link *link, const struct hub_message *message);
// A hub holds one until somebody approves it. False: it can't be read.
bool outbound_request_held(struct link *link, const struct hub_message *message);
// A hub has told of one's progress: it has it. False: it isn't the hub that may.
bool outbound_request_progress(struct link *link, struct cluster_member *member, uint64_t number);
// A hub is gone, and with it what it has taken.
void outbound_request_lose(struct link *link, struct cluster_member *member);
// Each tick: what nobody has taken in time ends.
void outbound_request_tick(struct link *link);
