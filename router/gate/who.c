#include "router/gate/who.h"

#include <assert.h>

#include "router/rights/authz.h"

struct who who_is(const struct peer *peer) {
    return (struct who){peer->name, identity_user(peer)};
}

bool who_is_same(struct who one, struct who other) {
    assert(one.connection && other.connection);
    bool users = one.user || other.user;
    return users ? identity_same(one.user, other.user) : one.connection == other.connection;
}

bool who_may_approve(const struct shard *shard, const struct peer *peer) {
    assert(connection_shard(peer->name) == shard->index);
    const struct user *user = authz_user(shard, peer);
    return !user || rights_admin(user).allowed;
}
