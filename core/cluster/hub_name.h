// The name of a hub in a cluster: NODE-N. NODE is 32 random hexadecimal digits for each process. N is the number of its
// link, and rises with each link. When a hub receives a greater N, the link with the lesser N has ended.
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
// Reads a name. Returns false if the text isn't a hub's name.
bool hub_name_read(struct hub_name *out, const void *text, size_t bytes);
// Compares the NODEs of two names. Returns a number below 0, 0, or above 0, as memcmp.
int hub_name_compare_nodes(const struct hub_name *one, const struct hub_name *other);

// --- Realms

// The REALM of a hub. Hubs with the same REALM may send requests to each other. A REALM is the protocol's number. With
// a users file or a gate, 16 hexadecimal digits of their digest follow.

enum { CLUSTER_PROTOCOL = 1, REALM_BYTES_MAX = 1 + 1 + 16 };

struct realm {
    char text[REALM_BYTES_MAX];
    size_t bytes; // 0: there is none
};

// Makes a REALM. `users` is the content of the users file; bytes 0: no users file. `gate` is the gate's level;
// GOVERNANCE_AUTONOMOUS: no gate. Returns false if the digest library fails.
bool realm_make(struct realm *out, const void *users, size_t users_bytes, enum governance gate);
bool realm_same(const struct realm *one, const struct realm *other);
