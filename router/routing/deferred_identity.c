#include "router/routing/deferred_identity.h"

#include <assert.h>
#include <string.h>

#include "core/rights/users.h"
#include "router/engine/shard/identity.h"

void deferred_identity_begin(const struct shard *shard, struct peer *peer, const struct speaker *speaker,
                             struct frame *frame, struct deferred_identity *before) {
    struct identity *identity = identity_of(peer);
    const struct users *users = shard->settings->users;
    assert(frame->buffer);
    frame->added = NULL;
    *before = identity ? (struct deferred_identity){identity->user, identity->kind, identity->digest}
                       : (struct deferred_identity){.kind = CREDENTIAL_NONE};
    if (!identity || !speaker->user || !users)
        return;
    identity->user = users_by_name(users, speaker->user->name, strlen(speaker->user->name));
    identity->kind = speaker->kind;
    identity->digest = *speaker->digest;
    frame->added = identity->user ? &identity->user->header : NULL;
}

void deferred_identity_end(struct peer *peer, struct deferred_identity *before) {
    struct identity *identity = identity_of(peer);
    assert(identity || !before->user);
    if (identity) {
        identity->user = before->user;
        identity->kind = before->kind;
        identity->digest = before->digest;
    }
    digest_wipe(&before->digest, sizeof before->digest);
}
