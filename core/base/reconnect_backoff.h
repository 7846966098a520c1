// The pause between two dials of a server that could not be reached (of NATS: router/features/cluster/link.c). Each pause
// is twice the one before, up to a maximum, less a random part of at most a quarter. Hubs that lost one server therefore
// don't all come back at once.
#pragma once

#include <stdint.h>

#include "core/base/siphash.h"

enum { RECONNECT_PAUSE_MS_MIN = 100, RECONNECT_PAUSE_MS_MAX = 2000 };

struct reconnect_backoff {
    uint32_t pause_ms; // the next one, before the random part is taken off
    uint64_t draws;    // random parts drawn so far: the input of the next draw
};

// Begins with the shortest pause again, since a server has taken the hub in.
void reconnect_backoff_reset(struct reconnect_backoff *backoff);
// Returns the pause in milliseconds before the next dial, and doubles the one after. `key` must be the hub's own secret,
// so that no peer can tell when the hub comes back.
uint32_t reconnect_backoff_next(struct reconnect_backoff *backoff, const struct siphash_key *key);
