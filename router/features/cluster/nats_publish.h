// Publishes messages of the hub itself to other hubs, through the NATS server. Messages of peers are sent by
// outbound_request.h.
#pragma once

#include "router/features/cluster/link_state.h"

struct nats_message;

// Sends lines of the protocol, and takes the text. Without memory the link is closed, since other hubs rely on all
// messages.
void nats_write(struct link *link, struct text *lines);
void nats_write_text(struct link *link, const char *lines);
// Sends PING, and counts it.
void nats_write_ping(struct link *link);

// Where a message of the hub itself goes.
struct hub_words {
    // SUBJECT_NAME, a kind under hub.HUB or hubs, or SUBJECT_KINDS_COUNT: `name` is the whole subject
    enum subject_kind kind;
    const struct hub_name *hub; // the hub, for kinds under hub.HUB; else NULL
    const char *name;           // the name for SUBJECT_NAME, or the whole subject
    size_t name_bytes;
    // In the subject of SUBJECT_ANSWER and SUBJECT_HELD; else the number of the expected answer, 0: none
    uint64_t number;
    const char *user; // the user for whom the message is sent; NULL: none
    bool is_frame;    // the text is the body of a frame, and not bare JSON
};
// Publishes a message, and takes the text. Returns false if no subject can have the name.
bool nats_publish(struct link *link, const struct hub_words *words, struct text *json);
// Answers a message that asks for services of NATS (its ADR 32): with this hub, and the names that can be asked here.
// Returns false if the message is no such question.
bool nats_service_take(struct link *link, const uint8_t *bytes, const struct nats_message *said);
// Returns how many bytes the JSON of one message may have.
size_t nats_publish_room(const struct link *link);
