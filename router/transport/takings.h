// Requests of other hubs' that were taken in a turn, by the hubs that asked, until these are told of them at its end.
#pragma once

#include "core/base/text.h"
#include "core/cluster/subject.h"

enum { TAKINGS_MAX = 8 }; // hubs

struct taking {
    struct text numbers; // a list (core/cluster/mark.h)
    char hub[HUB_NAME_BYTES];
};

// Zeros: none.
struct takings {
    uint32_t count;
    struct taking all[TAKINGS_MAX];
};

// That hub's list, with room for one more number. NULL: there is no room for it, or for that hub, until all are told.
struct text *takings_list(struct takings *takings, const char hub[HUB_NAME_BYTES]);
void takings_forget(struct takings *takings);
