// Reads the users file: at start, and again with the configuration.
#pragma once

#include "router/main/config_types.h"

// Reads the file that the configuration names. Returns NULL if the file can't be used; its faults have been named then,
// by their lines, without the text of the lines. `before` are the users whose accounts go on, or NULL. Writes the
// REALM, which follows from the file and the gate.
struct users *config_users(const struct config *config, const struct siphash_key *key,
                           const struct users *before, enum governance gate, struct realm *realm);
