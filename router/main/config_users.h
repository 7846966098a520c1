// The users file among what an operator sets: read at start, and again with the configuration.
#pragma once

#include "router/main/config_types.h"

// Reads the file that the configuration names. NULL when it can't be used, which has been said: its lines, never what
// stands there. `before` are the users whose accounts go on, or NULL. Writes the REALM that the file and the gate make.
struct users *config_users(const struct config *config, const struct siphash_key *key,
                           const struct users *before, enum governance gate, struct realm *realm);
