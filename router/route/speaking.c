#include "router/route/speaking.h"

#include <assert.h>
#include <string.h>

#include "core/rights/users.h"
#include "router/engine/shard/identity.h"

void speaking_begin(const struct shard *shard, struct peer *peer, const struct speaker *speaker,
                    struct frame *frame, struct spoken *before) {
    struct identity *identity = identity_of(peer);
    const struct users *users = shard->settings->users;
    assert(frame->buffer);
    frame->added = NULL;
    *before = identity ? (struct spoken){identity->user, identity->kind, identity->digest}
                       : (struct spoken){.kind = CREDENTIAL_NONE};
    if (!identity || !speaker->user || !users)
        return;
    identity->user = users_by_name(users, speaker->user->name, strlen(speaker->user->name));
    identity->kind = speaker->kind;
    identity->digest = *speaker->digest;
    frame->added = identity->user ? &identity->user->header : NULL;
}

void speaking_end(struct peer *peer, struct spoken *before) {
    struct identity *identity = identity_of(peer);
    assert(identity || !before->user);
    if (identity) {
        identity->user = before->user;
        identity->kind = before->kind;
        identity->digest = before->digest;
    }
    digest_wipe(&before->digest, sizeof before->digest);
}
