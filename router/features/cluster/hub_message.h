// What the server brings, opened: what the hubs say of a message, and the message itself.
#pragma once

#include "core/base/errors.h"
#include "core/cluster/hub_header.h"
#include "core/wire/nats.h"
#include "router/features/cluster/link.h"

// A message as a peer would have sent it: what stands behind the hubs' own line is a frame with its header block.
struct hub_message {
    struct hub_header header;
    struct unit unit;
    struct frame frame;
};

// False where it can't be read, or there is no body that may come in, and *error says why; the mark is read anyway.
bool hub_message_read(struct shard *shard, const struct frame *frame, const struct nats_message *said,
                      struct hub_message *out, enum error *error);
// The same of which the mark has been read.
bool hub_message_read_body(struct shard *shard, const struct frame *frame, const struct nats_message *said,
                           struct hub_message *out, enum error *error);
// Of one that can't be read since it is too large: whether it is its header block that is.
bool hub_message_head_is_too_large(const struct hub_message *opened);
// Adds to data which limit a message is over, and by what, where that is its body, which has so many bytes.
void hub_message_put_excess(const struct shard *shard, bool by_head, uint64_t body_bytes, struct text *data);
// Whether a body is an array, which hubs don't send each other.
bool hub_message_is_array(const struct frame *frame);
// What came can't be read, or isn't for anybody here.
static inline void hub_message_count_unreadable(struct shard *shard) {
    stats_count(&shard->stats, COUNT_CROSSED_UNREADABLE);
}
