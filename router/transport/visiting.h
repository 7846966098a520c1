// Requests of other hubs, on shard 0: how they are answered; and what hubs tell each other of requests.
#pragma once

#include "core/base/errors.h"
#include "core/cluster/mark.h"
#include "router/transport/link.h"

// A hub is there no more: what it had ends, and what it asked is cancelled.
void visiting_hub_gone(struct link *link, const char hub[HUB_NAME_BYTES]);
// What another hub says besides messages.
void visiting_signs(struct link *link, const uint8_t *bytes, const struct mark *mark);

// Remembers to whom the answer goes; NULL where that can't be.
struct visitor *visiting_enter(struct link *link, struct exchange *exchange, const struct mark *mark,
                               const uint8_t *reply, uint32_t reply_bytes);
// Answers at once; bytes 0: nobody waits.
void visiting_refuse(struct link *link, const uint8_t *reply, uint32_t reply_bytes, const struct mark *mark,
                     enum error error);
// As struct transport has them.
void visiting_respond(struct shard *shard, struct peer *peer, struct exchange *exchange);
void visiting_report(struct shard *shard, struct peer *peer, const struct pending *pending,
                     struct parcel *parcel);
