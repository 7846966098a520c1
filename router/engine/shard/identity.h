// The user that a peer speaks for (credential.h), and the consequences for its messages.
#pragma once

#include "core/send/parcel.h"
#include "router/engine/shard/credential.h"
#include "router/engine/shard/peer.h"

// Returns the peer's identity; NULL without a users file.
static inline struct identity *identity_of(const struct peer *peer) {
    return peer->cold ? peer->cold->identity : NULL;
}
// Returns the peer's identity, with a users file. Each peer that is read has one then.
static inline struct identity *identity_required(const struct peer *peer) {
    assert(peer->cold && peer->cold->identity);
    return peer->cold->identity;
}
// Returns to whom the peer's quota counts (core/base/quota.h): the user, or a hash of the address without a users file.
// 0: the hub itself, for a child or another hub.
uint64_t identity_holder(struct shard *shard, struct peer *peer);

// Returns the user for whom the peer speaks now; NULL: none, or there is no users file.
static inline const struct user *identity_user(const struct peer *peer) {
    const struct identity *identity = identity_of(peer);
    return identity ? identity->user : NULL;
}
// Returns whether the peer isn't read until the peer was told that its credential was wrong.
static inline bool identity_unread(const struct peer *peer) {
    return peer->state == PEER_ENDED && identity_of(peer) &&
           identity_of(peer)->pending_refusal != ATTEMPT_NONE;
}
// Returns whether the peer's user isn't known: neither a message nor the connection has shown a right credential.
bool identity_is_unauthenticated(const struct peer *peer);
// Returns whether the peer's queue is bounded by CONFINED_BYTES_MAX: its user isn't known, or was over a limit a moment
// ago.
bool identity_is_confined(const struct shard *shard, const struct peer *peer);
// Returns how much of the shard's buffers the connection may hold: a small buffer for a confined peer, one buffer for a
// user with limits. Arrivals past the limits wait until the peer reads.
enum buffer_mode identity_buffer_mode(const struct shard *shard, const struct peer *peer);
// Notes that the peer has sent a message over a limit of its user. Does nothing without an identity.
void identity_note_over(const struct shard *shard, struct peer *peer);
// Returns the limits of the unit that is coming in: a peer without a known user sends no large frames. An HTTP request
// shows its credential in its head.
const struct unit_limits *identity_limits_known(const struct shard *shard, const struct peer *peer);
static inline const struct unit_limits *identity_limits(const struct shard *shard, const struct peer *peer) {
    bool is_known = !shard->settings->users || identity_required(peer)->user;
    return __builtin_expect(is_known, true) ? &shard->unit_limits : identity_limits_known(shard, peer);
}
// Returns whether the unit that is coming in may go on. An HTTP request is judged by its head as soon as the head is
// whole: with a right credential, the body has a time-out of its own. False: unit.fault is set, or the request was
// answered.
bool identity_admits(struct shard *shard, struct peer *peer, const uint8_t *bytes);

// --- The identity of a deferred message

// A message that was held goes on in its user's name. An HTTP request may be over by then, and its peer speaks for no
// user any more.

// The user of the message, and the credential.
struct deferred_sender {
    const struct user *user; // of any edition; NULL: none
    enum credential_kind kind;
    const struct digest *digest; // of a token
    bool is_named_anyway; // if the users file no longer has the user, the peer speaks for `user` all the same
};

// The identity that a peer had before deferred_identity_begin.
struct deferred_identity {
    const struct user *user;
    enum credential_kind kind;
    struct digest digest;
};

// Lets a peer speak for this user, as the users file is now, and sets the frame's user header so. Keeps the former
// identity in `previous`. deferred_identity_end restores and wipes that.
void deferred_identity_begin(const struct shard *shard, struct peer *peer,
                             const struct deferred_sender *sender, struct frame *frame,
                             struct deferred_identity *previous);
void deferred_identity_end(struct peer *peer, struct deferred_identity *previous);
