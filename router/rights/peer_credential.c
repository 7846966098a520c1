#include "router/rights/peer_credential.h"

#include <assert.h>
#include <string.h>

struct search {
    const struct users *users;
    const struct user *found;
};

static bool is_users(void *context, const char *name, size_t bytes) {
    struct search *search = context;
    search->found = users_by_certificate(search->users, name, bytes);
    return search->found != NULL;
}

static void find(const struct hub_settings *settings, const struct peer *peer,
                 struct peer_credential *found) {
    const struct users *users = settings->users;
    const struct identity *identity = identity_of(peer);
    struct search search = {.users = users};
    found->kind = CREDENTIAL_CERTIFICATE;
    found->users = users;
    if (connection_certificate(&peer->connection, settings->secure, is_users, &search)) {
        found->user = search.found;
        return;
    }
    found->kind = CREDENTIAL_UID;
    found->user = identity->has_uid ? users_by_uid(users, identity->uid) : NULL;
}

const struct user *peer_credential_user(const struct shard *shard, const struct peer *peer,
                                        enum credential *kind) {
    struct identity *identity = identity_of(peer);
    assert(shard->settings->users && identity);
    *kind = CREDENTIAL_NONE;
    if (!connection_established(&peer->connection) ||
        identity->kind == CREDENTIAL_HUB) // its server is nobody's user
        return NULL;
    if (identity->peer_credential.users != shard->settings->users)
        find(shard->settings, peer, &identity->peer_credential);
    *kind = identity->peer_credential.kind;
    return identity->peer_credential.user;
}

const struct user *peer_credential_lookup(const struct shard *shard, const struct peer *peer,
                                          const struct user *user, enum credential kind,
                                          const struct digest *digest) {
    const struct users *users = shard->settings->users;
    assert(users && user);
    switch (kind) {
    case CREDENTIAL_TOKEN:
        return users_by_digest(users, digest);
    case CREDENTIAL_UID:
    case CREDENTIAL_CERTIFICATE: {
        enum credential found;
        const struct user *owner = peer_credential_user(shard, peer, &found);
        return found == kind ? owner : NULL;
    }
    case CREDENTIAL_CHILD:
    case CREDENTIAL_HUB:
        return users_by_name(users, user->name, strlen(user->name));
    case CREDENTIAL_NONE:
        break;
    }
    return NULL;
}

bool peer_credential_is_gone(const struct shard *shard, const struct peer *peer, const struct user *user,
                             enum credential kind, const struct digest *digest) {
    assert(!user || identity_of(peer));
    return user && shard->settings->users && kind != CREDENTIAL_CHILD && !identity_there(peer)->revoked &&
           !identity_same(peer_credential_lookup(shard, peer, user, kind, digest), user);
}

// A connection that is too many for its user is treated as one without a credential, until its first message
// is refused for that.
static void compare(struct shard *shard, struct identity *identity, const struct user *user) {
    bool is_owner = user && identity_counts(identity, user);
    assert(!identity->user && !identity->attempt);
    if (!is_owner)
        identity_uncount(identity);
    if (is_owner == identity->bears)
        return;
    identity->bears = is_owner;
    list_remove(&identity->unknown);
    wheel_disarm(&identity->timer);
    if (!is_owner)
        identity_wait(shard, identity);
}

void peer_credential_look(struct shard *shard, struct peer *peer) {
    struct identity *identity = identity_of(peer);
    enum credential kind;
    if (identity->looked || identity->kind == CREDENTIAL_CHILD || peer->state != PEER_OPEN ||
        !connection_established(&peer->connection))
        return;
    bool is_settled = identity->user || identity->was_known || identity->attempt;
    const struct user *user = is_settled ? NULL : peer_credential_user(shard, peer, &kind);
    if (user)
        compare(shard, identity, user);
    identity->looked = !user || identity->bears;
}

void peer_credential_review(struct shard *shard, struct peer *peer) {
    struct identity *identity = identity_of(peer);
    enum credential kind;
    assert(!identity->user);
    if (identity->kind == CREDENTIAL_CHILD || identity->attempt || identity->was_known ||
        !connection_established(&peer->connection))
        return;
    compare(shard, identity, peer_credential_user(shard, peer, &kind));
}
