// Accepts connections. Shard 0 accepts, and gives each connection to the shard with the fewest.
#pragma once

#include "router/engine/shard/peer.h"

// A listening socket and its transport.
struct accept_socket {
    int socket;
    const struct transport *transport;
    bool secure;
    // The service manager has the socket, too: connections that aren't accepted wait for the next hub
    bool passed;
};

// Makes shard 0 accept on these sockets, at most LISTENERS_MAX, and take the process's signals.
void accept_listen(struct shard *shard, const struct accept_socket *sockets, uint32_t count);
// Arms an accept on each listener without one, as long as the hub serves.
void accept_arm(struct shard *shard);
// Handles an IO_ACCEPTED event.
void accept_event(struct shard *shard, const struct io_event *event);
// Handles MAIL_ADOPT: a socket for this shard.
void accept_adopt(struct shard *shard, struct mail *mail);
// Handles MAIL_EVICT: at the limit of connections, closes the shard's oldest connection without a credential.
void accept_evict(struct shard *shard, struct mail *mail);
// Handles the shard's accept_timer.
void accept_timer_expired(struct shard *shard);
// Stops accepting: new connections go to the hub that listens beside this one, or to the next hub. Accepted connections
// are served.
void accept_hand_over(struct shard *shard);
// Closes the listeners whose transports don't serve in this phase. The kernel refuses new connections there.
void accept_stop(struct shard *shard);
// Returns whether a service manager passed sockets, which the next hub will have, too.
bool accept_has_passed(const struct shard *shard);
bool accept_is_listening(const struct shard *shard);
