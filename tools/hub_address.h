// Where a hub is: an address, or a name that is looked up when it is dialled.
#pragma once

#include "io/address.h"

enum { HUB_ADDRESS_NAME_BYTES_MAX = 253 };

struct hub_address {
    struct address address;                    // where it has a name, all of it but the machine's address
    char name[HUB_ADDRESS_NAME_BYTES_MAX + 1]; // empty: the URI has an address
};

// Reads a URI as address_parse does, but that HOST may be a name. 0 or -EINVAL.
int hub_address_parse(struct hub_address *hub, const char *uri);
// Connects to it, by the first of its addresses where that is possible. The socket; -ENONET when nobody knows its name;
// or -errno.
int hub_address_dial(const struct hub_address *hub);
