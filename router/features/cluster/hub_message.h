// A message that the server delivers, split into sender, subject and payload.
#pragma once

#include "core/base/errors.h"
#include "core/cluster/hub_header.h"
#include "core/wire/nats.h"
#include "router/features/cluster/link_state.h"

// The payload is a frame as a peer would have sent it, or JSON of a hub, or, without a hub's header, a bare body.
struct hub_message {
    const struct frame *arrival; // the message as the server sent it, with the payload as its body
    const struct nats_message *said;
    const uint8_t *bytes; // bytes of `arrival`, to which all spans but `json` refer
    struct subject subject;
    struct hub_header header;
    struct cluster_member *member; // the hub that sent the message; NULL: the sender is no hub
    const uint8_t *body;           // the payload
    struct span json; // the span of the payload if it is valid JSON; bytes 0: it isn't, or wasn't checked
    // Set by hub_message_open: the frame, and the size of a body over the limit, else 0.
    struct unit unit;
    struct frame frame;
    uint64_t excess;
};

// Returns the number under which the sending hub waits for the answer; 0: it waits for none.
static inline uint64_t hub_message_reply(const struct hub_message *message) {
    return answer_subject_number(&message->member->answers, message->bytes, message->said->reply);
}
// Opens the payload as a frame, once. Returns ERROR_NONE, or an error if the frame can't be read or is too large.
enum error hub_message_open(struct shard *shard, struct hub_message *message);
// Returns the user for whom the message was sent; NULL: none, or an unknown user.
const struct user *hub_message_user(const struct link *link, const struct hub_message *message);
