// Publishes a hub's own messages to other hubs, through its NATS server. Messages of peers go another way (outbound_request.h).
#pragma once

#include "router/features/cluster/link_state.h"

struct nats_message;

// Lines of the protocol, which are taken over. Without memory the link is lost: what it doesn't say, others would rely on.
void nats_write(struct link *link, struct text *lines);
void nats_write_text(struct link *link, const char *lines);
// PING, which is counted.
void nats_write_ping(struct link *link);

// Where a message of the hub's own goes.
struct hub_words {
    enum subject_kind kind;     // SUBJECT_NAME, one of those under hub.HUB or hubs, or none: of who is no hub
    const struct hub_name *hub; // of those under hub.HUB; else NULL
    const char *name;           // of SUBJECT_NAME; of none the whole subject
    size_t name_bytes;
    uint64_t number;  // in the subject of an answer and of held; else under which it is answered, 0: it isn't
    const char *user; // in whose name; NULL: nobody's
    bool is_frame;    // the text is the body of a frame
};
// Takes the text over. False: no subject can bear the name.
bool nats_publish(struct link *link, const struct hub_words *words, struct text *json);
// Answers a message that asks for services of NATS (its ADR 32): of this hub, and of who can be asked here. False: it doesn't.
bool nats_service_take(struct link *link, const uint8_t *bytes, const struct nats_message *said);
// How many bytes the JSON of one message may have.
size_t nats_publish_room(const struct link *link);
