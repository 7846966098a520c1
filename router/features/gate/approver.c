#include "router/features/gate/approver.h"

#include <assert.h>

#include "router/rights/authz.h"

struct approver approver_of(const struct peer *peer) {
    return (struct approver){peer->name, identity_user(peer)};
}

bool approver_is_same(struct approver one, struct approver other) {
    assert(one.connection && other.connection);
    bool users = one.user || other.user;
    return users ? identity_same(one.user, other.user) : one.connection == other.connection;
}

bool approver_may_decide(const struct shard *shard, const struct peer *peer) {
    assert(connection_shard(peer->name) == shard->index);
    const struct user *user = authz_user(shard, peer);
    return !user || rights_admin(user).allowed;
}
