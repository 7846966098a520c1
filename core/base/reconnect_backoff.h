// Computes the pause between two attempts to connect to a server that could not be reached (NATS:
// router/features/cluster/link.c). Each pause is twice the one before, up to a maximum, less a random part of at most a
// quarter. So hubs that lost the same server don't all return at once.
#pragma once

#include <stdint.h>

#include "core/base/siphash.h"

enum { RECONNECT_PAUSE_MS_MIN = 100, RECONNECT_PAUSE_MS_MAX = 2000 };

struct reconnect_backoff {
    uint32_t pause_ms; // the next pause in milliseconds, before the random part is subtracted
    uint64_t draws;    // number of random parts so far: the input of the next one
};

// Begins with the shortest pause again. For a server that has accepted the hub.
void reconnect_backoff_reset(struct reconnect_backoff *backoff);
// Returns the pause in milliseconds before the next attempt, and doubles the pause after it. `key` must be the hub's
// own secret, so that no peer can predict when the hub returns.
uint32_t reconnect_backoff_next(struct reconnect_backoff *backoff, const struct siphash_key *key);
