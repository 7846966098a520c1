// Requests of this hub's that others take, on shard 0: how they go, and how they end.
#pragma once

#include "core/base/errors.h"
#include "core/cluster/hub_header.h"
#include "core/wire/frame.h"
#include "router/features/cluster/link.h"

// As struct transport has them: what is queued for the link, and what is cancelled there.
bool outbound_request_divert(struct shard *shard, struct peer *peer, struct parcel *parcel);
struct peer *outbound_request_forget(struct shard *shard, struct peer *peer, uint64_t hub_id, bool lasts);
// A hub has answered it (`mark`: and says so). What refuses it may not be the end of it.
void outbound_request_answered(struct link *link, struct outbound_request *outbound,
                               const struct hub_header *header, struct frame *frame);
// Nobody was there: it ends as it would here.
void outbound_request_nobody(struct link *link, struct outbound_request *outbound);
// Another hub wants it approved, and it can't be held here.
void outbound_request_unapproved(struct link *link, struct outbound_request *outbound);
// It ends: what another hub has said to it is of no use, since …
void outbound_request_end(struct link *link, struct outbound_request *outbound, const char *fault);
// An answer has come that is larger than what this hub takes: its header block is, or its body, which has so many bytes.
void outbound_request_too_large(struct link *link, struct outbound_request *outbound, bool by_head,
                                uint64_t bytes);
// Whoever had it is there no more.
void outbound_request_lost(struct link *link, struct outbound_request *outbound);
