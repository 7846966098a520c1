// Requests of other hubs' that were taken in a turn, by the hubs that asked, until these are told of them at its end.
#pragma once

#include "core/base/text.h"
#include "core/cluster/subject.h"
#include "router/transport/neighbours.h"

enum { TAKINGS_MAX = 8 }; // hubs

struct taking {
    struct text
        numbers; // a list (core/cluster/hub_header.h), or for who takes bundles as they have it (core/cluster/bundle.h)
    bool takes_bundles;
    char hub[HUB_NAME_BYTES];
};

// Zeros: none.
struct takings {
    uint32_t count;
    struct taking all[TAKINGS_MAX];
};

// That hub's, with room for one more number. NULL: there is no room for it, or for that hub, until all are told.
struct taking *takings_of(struct takings *takings, const struct neighbour *hub);
void takings_forget(struct takings *takings);
