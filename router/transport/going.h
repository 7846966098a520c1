// Requests of this hub's that others take, on shard 0: how they go, and how they end.
#pragma once

#include "core/base/errors.h"
#include "core/cluster/hub_header.h"
#include "core/wire/frame.h"
#include "router/transport/link.h"

// As struct transport has them: what is queued for the link, and what is cancelled there.
bool going_divert(struct shard *shard, struct peer *peer, struct parcel *parcel);
struct peer *going_forget(struct shard *shard, struct peer *peer, uint64_t hub_id, bool lasts);
// A hub has answered it (`mark`: and says so). What refuses it may not be the end of it.
void going_answered(struct link *link, struct crossing *crossing, const struct hub_header *mark,
                    struct frame *frame);
// Nobody was there: it ends as it would here.
void going_nobody(struct link *link, struct crossing *crossing);
// Another hub wants it approved, and it can't be held here.
void going_unapproved(struct link *link, struct crossing *crossing);
// It ends: what another hub has said to it is of no use, since …
void going_end(struct link *link, struct crossing *crossing, const char *fault);
// An answer has come that is larger than what this hub takes: its header block is, or its body, which has so many bytes.
void going_too_large(struct link *link, struct crossing *crossing, bool by_head, uint64_t bytes);
// Whoever had it is there no more.
void going_lost(struct link *link, struct crossing *crossing);
