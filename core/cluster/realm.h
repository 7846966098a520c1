// The REALM of a hub: which hubs of a cluster may ask each other. It is the protocol's number; where the hub has a users file or a
// gate, 16 hexadecimal digits of their digest follow.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/base/governance.h"

enum { CLUSTER_PROTOCOL = 1, REALM_BYTES_MAX = 1 + 1 + 16 };

struct realm {
    char text[REALM_BYTES_MAX];
    size_t bytes; // 0: there is none
};

// `users`: the users file's bytes; bytes 0: there is no such file. `gate`: the level that is held; GOVERNANCE_AUTONOMOUS: there is
// no gate. False when the library that makes digests fails.
bool realm_make(struct realm *out, const void *users, size_t users_bytes, enum governance gate);
bool realm_same(const struct realm *one, const struct realm *other);
