#include "router/engine/shard/credential.h"

#include <assert.h>
#include <string.h>

uint64_t identity_address_hash(const struct shard *shard, const struct io_peer_address *from) {
    uint8_t text[1 + sizeof from->address] = {from->is_user};
    if (from->is_user)
        memcpy(text + 1, &from->user, sizeof from->user);
    else
        memcpy(text + 1, from->address, sizeof from->address);
    return siphash_table(&shard->hub->start_settings.secrets.tables, text, sizeof text);
}

static void look_where_from(struct shard *shard, struct identity *identity, int socket) {
    struct io_peer_address from;
    assert(socket >= 0);
    io_read_peer_address(shard->io, socket, &from);
    identity->address_hash = identity_address_hash(shard, &from);
    identity->has_uid = from.is_user;
    identity->uid = from.user;
}

// Gives a connection without a credential some time to show one.
void identity_wait(struct shard *shard, struct identity *identity) {
    assert(list_empty(&identity->unauthenticated) && !timer_armed(&identity->timer));
    list_append(&shard->unauthenticated, &identity->unauthenticated);
    identity->number =
        1 + atomic_fetch_add_explicit(&shard->hub->unauthenticated_count, 1, memory_order_relaxed);
    wheel_arm(&shard->wheel, &identity->timer, shard_now_ms(shard) + CREDENTIAL_MS);
}

bool identity_count_for(struct identity *identity, const struct user *user) {
    assert(user && user->account);
    if (identity->counted_user == user)
        return true;
    if (!account_connect(user->account, users_rights(user)->limits.connections))
        return false;
    identity_uncount(identity);
    identity->counted_user = user;
    return true;
}

void identity_uncount(struct identity *identity) {
    if (identity->counted_user)
        account_disconnect(identity->counted_user->account);
    identity->counted_user = NULL;
}

bool identity_take(struct shard *shard, struct peer_cold *cold, int socket) {
    assert(shard->settings->users && cold->peer && !cold->identity);
    struct identity *identity = quota_take_zeroed(&shard->connection_quota, 1, sizeof *identity);
    if (!identity)
        return false;
    identity->peer = cold->peer;
    timer_init(&identity->timer, TIMER_IDENTITY);
    list_init(&identity->unauthenticated);
    cold->identity = identity;
    if (socket < 0)
        return true;
    look_where_from(shard, identity, socket);
    const struct user *user = identity->has_uid ? users_by_uid(shard->settings->users, identity->uid) : NULL;
    identity->has_peer_credential = user && identity_count_for(identity, user);
    if (!identity->has_peer_credential)
        identity_wait(shard, identity);
    return true;
}

void identity_publish(struct shard *shard) {
    _Atomic uint64_t *published = &shard->hub->unauthenticated_oldest[shard->index];
    uint64_t oldest = 0;
    assert(shard->settings->users);
    if (!list_empty(&shard->unauthenticated))
        oldest = list_entry(shard->unauthenticated.next, struct identity, unauthenticated)->number;
    if (atomic_load_explicit(published, memory_order_relaxed) != oldest)
        atomic_store_explicit(published, oldest, memory_order_relaxed);
}

void identity_give(struct quota *quota, struct quota *connection_quota, struct identity *identity) {
    if (!identity)
        return;
    assert(!timer_armed(&identity->timer) && list_empty(&identity->unauthenticated) &&
           !identity->counted_user);
    digest_wipe(&identity->digest, sizeof identity->digest);
    quota_give(quota, identity->id);
    quota_give(quota, identity->authz_cache);
    quota_give(connection_quota, identity);
}

bool identity_same(const struct user *one, const struct user *other) {
    return one && one == other;
}
