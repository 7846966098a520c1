// What a user has sent goes on later, as that user's. A request of HTTP is over by then, and its peer speaks for nobody any more.
#pragma once

#include "core/send/parcel.h"
#include "router/shard/peer.h"

struct user;

// Lets a peer speak for this user, of whatever edition (NULL: for nobody), as the users are now, and signs the frame so. Returns who
// it spoke for before, to be set again by speaking_end.
const struct user *speaking_begin(const struct shard *shard, struct peer *peer, const struct user *user,
                                  struct frame *frame);
void speaking_end(struct peer *peer, const struct user *before);
