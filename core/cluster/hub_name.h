// The name of a hub in a cluster: NODE-N. NODE is 32 random hexadecimal digits a process. N is the number of its link, and
// rises with each link. A hub that hears a greater N knows that the lesser link has ended.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/governance.h"

enum { NODE_BYTES = 32, HUB_NAME_BYTES_MAX = NODE_BYTES + 1 + 10 };

struct hub_name {
    char text[HUB_NAME_BYTES_MAX];
    uint8_t bytes;   // 0: no hub
    uint32_t number; // N, from 1 on
};

// Writes the name of a node's link; `number` is 1 or more.
void hub_name_write(struct hub_name *out, const char node[NODE_BYTES], uint32_t number);
// Reads a name. False: the text is no name of a hub.
bool hub_name_read(struct hub_name *out, const void *text, size_t bytes);
// Below 0, 0 or above 0, as the NODE of `one` is lesser, the same or greater.
int hub_name_compare_nodes(const struct hub_name *one, const struct hub_name *other);

// --- Realms

// The REALM of a hub: hubs of the same REALM may ask each other. A REALM is the protocol's number; where the hub has a users
// file or a gate, 16 hexadecimal digits of their digest follow.

enum { CLUSTER_PROTOCOL = 1, REALM_BYTES_MAX = 1 + 1 + 16 };

struct realm {
    char text[REALM_BYTES_MAX];
    size_t bytes; // 0: there is none
};

// `users`: the users file's bytes; bytes 0: there is no such file. `gate`: the level that is held; GOVERNANCE_AUTONOMOUS: there is
// no gate. False when the library that makes digests fails.
bool realm_make(struct realm *out, const void *users, size_t users_bytes, enum governance gate);
bool realm_same(const struct realm *one, const struct realm *other);
