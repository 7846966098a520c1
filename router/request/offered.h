// A request that is offered to another hub, as it came, on its source's shard. Where nobody takes it there, it goes on as if it
// had never gone.
#pragma once

#include "router/request/message.h"

struct offered {
    struct unit unit;
    struct frame frame;      // with a reference of its own
    const struct user *user; // who has sent it, of whatever edition; NULL: users are not on
    struct attachment
        *attachment; // where its connection was attached to then, if that says where it goes; or NULL
};

// Why it is back.
struct returned {
    bool nobody;   // is there
    uint32_t owed; // else: what who owes least there owes; 0: none of them might take it
};

// NULL where there is no memory to keep it: then it must not go.
struct offered *offered_keep(struct shard *shard, const struct message *message);
void offered_drop(struct shard *shard, struct offered *offered);
