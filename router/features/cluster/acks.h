// Requests of other hubs' that were taken in a turn, by the hubs that asked, until these are told of them at its end.
#pragma once

#include "core/base/text.h"
#include "core/cluster/subject.h"
#include "router/features/cluster/cluster_members.h"

enum { ACKS_MAX = 8 }; // hubs

struct ack_list {
    struct text numbers; // a list (core/cluster/hub_header.h)
    char hub[HUB_NAME_BYTES];
};

// Zeros: none.
struct acks {
    uint32_t count;
    struct ack_list all[ACKS_MAX];
};

// That hub's, with room for one more number. NULL: there is no room for it, or for that hub, until all are told.
struct ack_list *acks_of(struct acks *acks, const struct cluster_member *hub);
void acks_forget(struct acks *acks);
