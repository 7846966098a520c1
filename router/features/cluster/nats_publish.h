// What a hub says to its NATS server, and through it to other hubs, besides messages of peers.
#pragma once

#include "router/features/cluster/link_state.h"

// Lines of the protocol, which are taken over. Without memory the link is lost: what it doesn't say, others would rely on.
void nats_write(struct link *link, struct text *lines);
void nats_write_text(struct link *link, const char *lines);
// PING, which is counted.
void nats_write_ping(struct link *link);

// A JSON message of the hub's own.
struct hub_words {
    const char *subject;
    size_t subject_bytes;
    uint64_t answer;  // the number under which it is answered; 0: it isn't
    const char *user; // in whose name; NULL: nobody's
    const char *json; // bytes 0: none
    size_t json_bytes;
    bool is_urgent; // it goes ahead of what waits
};
void nats_publish(struct link *link, const struct hub_words *words);
// The same to one hub, or to all: a kind under hub.HUB (hub isn't NULL) or under hubs. `json` is taken over; NULL: none.
void nats_publish_to(struct link *link, const struct hub_name *hub, enum subject_kind kind, uint64_t number,
                     struct text *json);
// How many bytes the JSON of one message may have.
size_t nats_publish_room(const struct link *link);
