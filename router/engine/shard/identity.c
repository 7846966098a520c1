#include "router/engine/shard/identity.h"

#include <assert.h>
#include <string.h>

#include "core/rights/users.h"

bool identity_is_unauthenticated(const struct peer *peer) {
    const struct identity *identity = identity_of(peer);
    return identity && !identity->user && !identity->has_peer_credential && !identity->was_known &&
           identity->kind != CREDENTIAL_CHILD;
}

bool identity_is_confined(const struct shard *shard, const struct peer *peer) {
    const struct identity *identity = identity_of(peer);
    bool is_over = identity && identity->over_limit && shard_since(shard, identity->over_ms) < CONFINED_MS;
    return is_over || identity_is_unauthenticated(peer);
}

enum buffer_mode identity_buffer_mode(const struct shard *shard, const struct peer *peer) {
    const struct identity *identity = identity_of(peer);
    if (!identity || identity->kind == CREDENTIAL_CHILD)
        return BUFFER_MODE_MANY;
    if (identity_is_confined(shard, peer))
        return BUFFER_MODE_SMALL;
    const struct user *user = identity->user ? identity->user : identity->counted_user;
    const struct account_limits *limits = user ? &users_rights(user)->limits : NULL;
    return limits && (limits->rate | limits->bytes) ? BUFFER_MODE_ONE : BUFFER_MODE_MANY;
}

void identity_note_over(const struct shard *shard, struct peer *peer) {
    struct identity *identity = identity_of(peer);
    assert(shard->settings->users || !identity);
    if (!identity)
        return;
    identity->over_limit = true;
    identity->over_ms = shard_tick(shard);
}

const struct unit_limits *identity_limits_known(const struct shard *shard, const struct peer *peer) {
    assert(shard->settings->users);
    return identity_is_unauthenticated(peer) && !peer->transport->answers_only
               ? &shard->unauthenticated_limits
               : &shard->unit_limits;
}

bool identity_admits(struct shard *shard, struct peer *peer, const uint8_t *bytes) {
    const struct identity *identity = identity_of(peer);
    assert(peer->state == PEER_OPEN);
    if (!shard->settings->users || !identity || identity->was_known || !peer->transport->codec.admits ||
        !peer->unit.body_at || peer->transport->codec.admits(shard, peer, bytes))
        return true;
    if (peer->state == PEER_OPEN && peer->unit.body_bytes <= UNAUTHENTICATED_FRAME_BYTES_MAX)
        return true;
    peer->unit.fault = UNIT_FAULT_BODY_TOO_LARGE;
    peer->unit.fault_at = peer->unit.body_at;
    return false;
}

uint64_t identity_holder(struct shard *shard, struct peer *peer) {
    const struct user *user = identity_user(peer);
    assert(!user || shard->settings->users);
    if (user)
        return siphash_table(&shard->hub->start_settings.secrets.tables, user->name, strlen(user->name));
    bool is_whole = peer->connection.socket < 0 ||
                    peer->connection_id == shard->remote_link.registrant.connection; // all hubs speak there
    struct peer_cold *cold = is_whole ? NULL : peer_take_cold(shard, peer);
    if (cold && !cold->address_hash) {
        struct io_peer_address from;
        io_read_peer_address(shard->io, peer->connection.socket, &from);
        cold->address_hash = identity_address_hash(shard, &from);
    }
    return cold ? cold->address_hash : 0;
}

// --- In the name of a sender that has left

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
    if (!identity->user && sender->is_named_anyway)
        identity->user = sender->user;
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
