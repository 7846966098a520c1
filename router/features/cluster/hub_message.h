// What the server brings, opened: what the hub says of a message, and the message itself.
#pragma once

#include "core/base/errors.h"
#include "core/cluster/hub_header.h"
#include "core/wire/nats.h"
#include "router/features/cluster/link_state.h"

// A message as a peer would have sent it: the payload is its frame. Without the hub's line the payload is a bare body.
struct hub_message {
    struct hub_header header;
    struct unit unit;
    struct frame frame;
    uint64_t excess; // bytes of a body over the limit; 0: its header block is, or nothing
};

// Reads the frame; the header has been read. False where it can't be read, or is larger than what may come in, and *error says which.
bool hub_message_read(struct shard *shard, const struct frame *frame, struct hub_message *out,
                      enum error *error);
// Whether a body is an array, which hubs don't send each other.
bool hub_message_is_array(const struct frame *frame);
// What came can't be read, or isn't for anybody here.
static inline void hub_message_count_unreadable(struct shard *shard) {
    stats_count(&shard->stats, COUNT_MESSAGES_UNREADABLE);
}
