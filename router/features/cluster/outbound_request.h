// Requests of this hub at other hubs, by their hub ids, on shard 0: which hub has taken each, and how each ends.
#pragma once

#include "router/features/cluster/link_state.h"

struct hub_message;

void outbound_request_init(struct outbound_requests *requests, const struct siphash_key *key,
                           struct quota *quota);
// Removes requests of a list, because the link is lost: those that a member has taken, or those without a taker. Their
// sources' shards end them.
void outbound_request_forget(struct outbound_requests *requests, struct list *all);
void outbound_request_deinit(struct outbound_requests *requests);

// Functions of struct transport: for parcels that are queued for the link, and for cancels.
bool outbound_request_divert(struct shard *shard, struct peer *peer, struct parcel *parcel);
bool outbound_request_note(struct shard *shard, struct peer *peer, uint64_t hub_id);
bool outbound_request_cancel(struct shard *shard, struct peer *peer, struct parcel *parcel,
                             bool source_waits);

// Takes an answer of another hub, of a client of the server, or the server's report that nobody is subscribed. Returns
// false if no request of this number waits for it.
bool outbound_request_answer(struct link *link, struct hub_message *message);
// Takes a hub's report of requests that it has taken: a JSON array of numbers. Returns false if the report can't be
// read.
bool outbound_request_taken(struct link *link, const struct hub_message *message);
// Takes a hub's report that it holds a request until a peer approves it. Returns false if the report can't be read.
bool outbound_request_held(struct link *link, const struct hub_message *message);
// Notes that a hub has reported progress of a request, and so has the request. Returns false if the request has ended,
// or another hub has it.
bool outbound_request_progress(struct link *link, struct cluster_member *member, uint64_t number);
// Ends all requests that a hub had taken, because the hub is gone.
void outbound_request_lose(struct link *link, struct cluster_member *member);
// Ends requests that no hub has taken in time. Called each tick.
void outbound_request_tick(struct link *link);
