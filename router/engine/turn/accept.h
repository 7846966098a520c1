// Taking connections in: shard 0 accepts them, and hands each to the shard that has the fewest.
#pragma once

#include "router/engine/shard/peer.h"

// A listening socket, and what is spoken there.
struct accept_socket {
    int socket;
    const struct transport *transport;
    bool secure;
    bool passed; // the service manager has it, too: what isn't accepted waits for the next hub
};

// Makes shard 0 accept on these, LISTENERS_MAX at most, and take the process's signals.
void accept_listen(struct shard *shard, const struct accept_socket *sockets, uint32_t count);
// Arms what isn't armed, as long as the hub serves.
void accept_arm(struct shard *shard);
// An IO_ACCEPTED event came.
void accept_event(struct shard *shard, const struct io_event *event);
// MAIL_ADOPT: a socket for this shard.
void accept_adopt(struct shard *shard, struct mail *mail);
// MAIL_EVICT: the limit of connections is reached, and who has shown no credential for longest gives way.
void accept_evict(struct shard *shard, struct mail *mail);
// The timer of accepting went off.
void accept_again(struct shard *shard);
// Leaves new connections to the hub that listens beside this one, or to the next one. Accepted connections are
// served.
void accept_step_aside(struct shard *shard);
// Ends accepting what isn't taken in in this phase; what arrives there from now on is refused by the kernel.
void accept_stop(struct shard *shard);
// Whether there are sockets that the next hub will have, too.
bool accept_has_passed(const struct shard *shard);
bool accept_is_listening(const struct shard *shard);
