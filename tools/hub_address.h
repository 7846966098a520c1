// The place of a hub: an address, or a name that is resolved when the hub is dialled.
#pragma once

#include "io/address.h"

enum { HUB_ADDRESS_NAME_BYTES_MAX = 253 };

struct hub_address {
    struct address address;                    // with a name: all but the machine's address
    char name[HUB_ADDRESS_NAME_BYTES_MAX + 1]; // empty: the URI has an address
};

// Reads a URI as address_parse does, but HOST may be a name. Returns 0 or -EINVAL.
int hub_address_parse(struct hub_address *hub, const char *uri);
// Connects to a hub, at the first of its addresses where that is possible. Returns the socket; -ENONET if its name
// can't be resolved; or -errno.
int hub_address_dial(const struct hub_address *hub);
