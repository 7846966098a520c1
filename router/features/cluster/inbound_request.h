// Requests and notifications of other hubs, and of clients of the NATS server, on shard 0: how they come, are told of, and are
// answered.
#pragma once

#include "router/features/cluster/link_state.h"

struct hub_message;

void inbound_request_init(struct inbound_requests *requests, const struct siphash_key *key,
                          struct quota *quota);
// The link is lost: what is under way has no exchange there any more.
void inbound_request_forget_all(struct inbound_requests *requests);
void inbound_request_deinit(struct inbound_requests *requests);

// One came for whom the subject names, or for the gate.
void inbound_request_take(struct link *link, struct hub_message *message);
// A hub cancels one, in its source's words. False: it can't be read.
bool inbound_request_cancel(struct link *link, struct hub_message *message);
// A hub is gone: what it has asked is cancelled.
void inbound_request_lose(struct link *link, struct cluster_member *member);
// A hub takes this one for gone: likewise, and all is answered, since what it sent right before it said so may be held
// for taken there.
void inbound_request_end(struct link *link, struct cluster_member *member);
// Each tick: hubs are told of what was taken a while ago and isn't answered.
void inbound_request_tick(struct link *link);

// As struct transport has them, and struct feature the last.
void inbound_request_respond(struct shard *shard, struct peer *peer, struct exchange *exchange);
bool inbound_request_pack(struct shard *shard, struct peer *peer, struct exchange *exchange,
                          const struct frame *frame, struct span id, struct piece text, bool is_error);
void inbound_request_report(struct shard *shard, struct peer *peer, const struct pending *pending,
                            struct parcel *parcel);
void inbound_request_hold(struct shard *shard, const struct message *message, const char *checkpoint,
                          size_t bytes);
