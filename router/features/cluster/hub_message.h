// A message that the server brings, taken apart: who says it, under which subject, and what its payload holds.
#pragma once

#include "core/base/errors.h"
#include "core/cluster/hub_header.h"
#include "core/wire/nats.h"
#include "router/features/cluster/link_state.h"

// The payload is a frame as a peer would have sent it, or JSON of a hub's own, or, without the hub's line, a bare body.
struct hub_message {
    const struct frame *arrival; // the server's words, with the payload as their body
    const struct nats_message *said;
    const uint8_t *bytes; // of the arrival: all spans are theirs but `json`
    struct subject subject;
    struct hub_header header;
    struct cluster_member *member; // the hub that says it; NULL: no hub does
    const uint8_t *body;           // the payload
    struct span json; // of the payload, where that is valid JSON; bytes 0: it isn't, or wasn't judged
    // Once it was opened: the frame, and how many bytes of a body are over the limit.
    struct unit unit;
    struct frame frame;
    uint64_t excess;
};

// Under which number the hub that says it takes the answer; 0: nowhere.
static inline uint64_t hub_message_reply(const struct hub_message *message) {
    return answer_subject_number(&message->member->answers, message->bytes, message->said->reply);
}
// Opens the payload as a frame, once. Not ERROR_NONE: it can't be read, or is larger than what may come in.
enum error hub_message_open(struct shard *shard, struct hub_message *message);
// The user in whose name it is said; NULL: nobody, or one who isn't known.
const struct user *hub_message_user(const struct link *link, const struct hub_message *message);
