// Where a hub is: an address, or a name that is looked up when it is dialled.
#pragma once

#include "io/address.h"

enum { PLACE_NAME_BYTES_MAX = 253 };

struct place {
    struct address address;              // where it has a name, all of it but the machine's address
    char name[PLACE_NAME_BYTES_MAX + 1]; // empty: the URI has an address
};

// Reads a URI as address_parse does, but that HOST may be a name. 0 or -EINVAL.
int place_parse(struct place *place, const char *uri);
// Connects to it, by the first of its addresses where that is possible. The socket; -ENONET when nobody knows its name;
// or -errno.
int place_dial(const struct place *place);
