// The middle of a frame's way: what is it, and where does it go? lookup tells the first, rules the second.
#pragma once

#include "core/limits.h"
#include "core/lookup.h"
#include "core/parcel.h"
#include "router/reply.h"
#include "router/shard.h"

// One message under way, on the stack of route_frame.
struct message {
    struct peer *peer;
    const struct frame *frame;
    const uint8_t *body;
    struct lookup lookup;
    size_t method_bytes;
    char method[METHOD_BYTES_MAX]; // decoded; a longer one is none that anybody offers, and its bytes are 0
};

static inline bool message_is_request(const struct message *message) {
    return message->lookup.kind == BODY_REQUEST;
}
// The request's id; none for a notification.
static inline struct reply_id message_id(const struct message *message) {
    struct span id = message->lookup.value[KEY_ID];
    return message_is_request(message) ? (struct reply_id){message->body + id.at, id.bytes}
                                       : (struct reply_id){0};
}

// Routes a whole frame that came from this peer. References that are needed longer are taken.
void route_frame(struct shard *shard, struct peer *peer, const struct frame *frame);

// Refuses a message: a request is answered, a notification counted. Takes `data` over, which may be NULL.
void route_refuse(struct shard *shard, const struct message *message, enum error error, struct text *data);
// The same for a value that isn't what it should be.
void route_refuse_field(struct shard *shard, const struct message *message, const char *field,
                        const char *expected);
