#include "router/routing/deferred_identity.h"

#include <assert.h>
#include <string.h>

#include "core/rights/users.h"
#include "router/engine/shard/identity.h"

void deferred_identity_begin(const struct shard *shard, struct peer *peer,
                             const struct deferred_sender *sender, struct frame *frame,
                             struct deferred_identity *previous) {
    struct identity *identity = identity_of(peer);
    const struct users *users = shard->settings->users;
    assert(frame->buffer);
    frame->added = NULL;
    *previous = identity ? (struct deferred_identity){identity->user, identity->kind, identity->digest}
                         : (struct deferred_identity){.kind = CREDENTIAL_NONE};
    if (!identity || !sender->user || !users)
        return;
    identity->user = users_by_name(users, sender->user->name, strlen(sender->user->name));
    identity->kind = sender->kind;
    identity->digest = *sender->digest;
    frame->added = identity->user ? &identity->user->header : NULL;
}

void deferred_identity_end(struct peer *peer, struct deferred_identity *previous) {
    struct identity *identity = identity_of(peer);
    assert(identity || !previous->user);
    if (identity) {
        identity->user = previous->user;
        identity->kind = previous->kind;
        identity->digest = previous->digest;
    }
    digest_wipe(&previous->digest, sizeof previous->digest);
}
