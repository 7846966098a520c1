// Requests and notifications from other hubs, and from clients of the NATS server, on shard 0: how they are received,
// reported and answered.
#pragma once

#include "router/features/cluster/link_state.h"

struct hub_message;

void inbound_request_init(struct inbound_requests *requests, const struct siphash_key *key,
                          struct quota *quota);
// Removes the requests of clients, because the link is lost. Their exchanges end without an answer. Requests of hubs
// must have been removed with their members.
void inbound_request_forget_all(struct inbound_requests *requests);
void inbound_request_deinit(struct inbound_requests *requests);

// Takes a request or notification for the target that its subject names, or for the gate.
void inbound_request_take(struct link *link, struct hub_message *message);
// Cancels a request of a hub, by a cancel from the request's source. Returns false if the cancel can't be read.
bool inbound_request_cancel(struct link *link, struct hub_message *message);
// Cancels all requests of a hub that is gone.
void inbound_request_lose(struct link *link, struct cluster_member *member);
// Cancels all requests of a hub that has removed this hub, and answers them with errors. The other hub may take a
// request for delivered that was sent right before.
void inbound_request_end(struct link *link, struct cluster_member *member);
// Tells hubs which of their requests were taken a tick ago and aren't answered. Called each tick.
void inbound_request_tick(struct link *link);

// Functions of struct transport; the last one is a hook of struct feature.
void inbound_request_respond(struct shard *shard, struct peer *peer, struct exchange *exchange);
bool inbound_request_pack_answer(struct shard *shard, struct peer *peer, struct exchange *exchange,
                                 const struct frame *frame, struct span id, struct piece text, bool is_error);
void inbound_request_report(struct shard *shard, struct peer *peer, const struct pending *pending,
                            struct parcel *parcel);
void inbound_request_hold(struct shard *shard, const struct message *message, const char *checkpoint,
                          size_t bytes);
