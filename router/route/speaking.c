#include "router/route/speaking.h"

#include <assert.h>
#include <string.h>

#include "core/rights/users.h"
#include "router/shard/identity.h"

const struct user *speaking_begin(const struct shard *shard, struct peer *peer, const struct user *user,
                                  struct frame *frame) {
    struct identity *identity = identity_of(peer);
    const struct user *before = identity ? identity->user : NULL;
    assert(frame->buffer);
    frame->added = NULL;
    if (!identity || !user || !shard->settings->users)
        return before;
    user = users_by_name(shard->settings->users, user->name, strlen(user->name));
    identity->user = user;
    frame->added = user ? &user->header : NULL;
    return before;
}

void speaking_end(struct peer *peer, const struct user *before) {
    struct identity *identity = identity_of(peer);
    assert(identity || !before);
    if (identity)
        identity->user = before;
}
