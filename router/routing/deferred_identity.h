// A user's message goes on later, as that user's. A request of HTTP is over by then, and its peer speaks for
// nobody any more.
#pragma once

#include "core/send/parcel.h"
#include "router/engine/shard/credential.h"
#include "router/engine/shard/peer.h"

// The user, and the credential.
struct deferred_sender {
    const struct user *user; // of whatever edition; NULL: nobody
    enum credential kind;
    const struct digest *digest; // of a token
};

// The identity that a peer had before.
struct deferred_identity {
    const struct user *user;
    enum credential kind;
    struct digest digest;
};

// Lets a peer speak for this user, as the users are now, by this credential, and signs the frame so. The
// earlier identity is kept, to be set again by deferred_identity_end, which wipes it.
void deferred_identity_begin(const struct shard *shard, struct peer *peer,
                             const struct deferred_sender *sender, struct frame *frame,
                             struct deferred_identity *previous);
void deferred_identity_end(struct peer *peer, struct deferred_identity *previous);
