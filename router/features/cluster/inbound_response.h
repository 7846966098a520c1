// Requests of other hubs, on shard 0: how they are answered.
#pragma once

#include "core/base/errors.h"
#include "core/cluster/hub_header.h"
#include "router/features/cluster/link.h"

// Where a request came to, and where its answer is to go.
struct inbound_address {
    const uint8_t *subject, *reply;
    uint32_t subject_bytes, reply_bytes;
};
// Remembers to whom the answer goes. NULL where that can't be: for `*error`, with which it is to be refused, or, where that is
// ERROR_NONE, since another request is to be answered there.
struct inbound_request *inbound_response_enter(struct link *link, struct exchange *exchange,
                                               const struct hub_header *header,
                                               const struct inbound_address *inbound_address,
                                               enum error *error);
// Whether a hub says by its reply subject that nobody waits.
bool inbound_response_is_unanswered(const uint8_t *reply, uint32_t reply_bytes);
// The number under which a hub has asked, as its reply subject says it; 0: it says none.
uint64_t inbound_response_number(const uint8_t *reply, uint32_t reply_bytes);
// Answers at once; reply_bytes 0: nobody waits. `bytes`: how large what came is, where that is why.
void inbound_response_refuse(struct link *link, const uint8_t *reply, uint32_t reply_bytes,
                             const struct hub_header *header, enum error error, bool by_head, uint64_t bytes);
// As struct transport has them.
void inbound_response_respond(struct shard *shard, struct peer *peer, struct exchange *exchange);
void inbound_response_report(struct shard *shard, struct peer *peer, const struct pending *pending,
                             struct parcel *parcel);
