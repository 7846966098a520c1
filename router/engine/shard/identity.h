// The user that a peer speaks for (credential.h), and the consequences for its messages.
#pragma once

#include "core/send/parcel.h"
#include "router/engine/shard/credential.h"
#include "router/engine/shard/peer.h"

// NULL where users aren't on.
static inline struct identity *identity_of(const struct peer *peer) {
    return peer->cold ? peer->cold->identity : NULL;
}
// Where they are: then each peer that is heard has one.
static inline struct identity *identity_there(const struct peer *peer) {
    assert(peer->cold && peer->cold->identity);
    return peer->cold->identity;
}
// The user for whom the peer speaks now; NULL: none, or users aren't on.
// For whom the hub keeps what the peer has it keep (core/base/quota.h): the user; without users, where it comes
// from. 0: for the hub itself, as of a child, or of another hub.
uint64_t identity_holder(struct shard *shard, struct peer *peer);

static inline const struct user *identity_user(const struct peer *peer) {
    const struct identity *identity = identity_of(peer);
    return identity ? identity->user : NULL;
}
// Whether nothing that it sends is read, until it is told that its credential was wrong.
static inline bool identity_unread(const struct peer *peer) {
    return peer->state == PEER_ENDED && identity_of(peer) && identity_of(peer)->attempt != ATTEMPT_NONE;
}
// Whether nobody knows yet who sends it: it has shown no right credential, and its connection bears none.
bool identity_is_unknown(const struct peer *peer);
// Whether CONFINED_BYTES_MAX may wait for it: nobody knows who it is, or its user was over a limit a moment ago.
bool identity_is_confined(const struct shard *shard, const struct peer *peer);
// How much of the shard's buffers its connection may hold: a small one while CONFINED_BYTES_MAX may wait for it, and one
// where its user has limits, since the first arrivals past them would wait until it reads.
enum connection_share identity_share(const struct shard *shard, const struct peer *peer);
// Notes that it has sent something that was over a limit of its user's. Without an identity nothing is noted.
void identity_note_over(const struct shard *shard, struct peer *peer);
// A peer without a known user sends no large frames. (A request of HTTP has its credential in its head.)
const struct unit_limits *identity_limits_known(const struct shard *shard, const struct peer *peer);
static inline const struct unit_limits *identity_limits(const struct shard *shard, const struct peer *peer) {
    bool is_known = !shard->settings->users || identity_there(peer)->user;
    return __builtin_expect(is_known, true) ? &shard->unit_limits : identity_limits_known(shard, peer);
}
// Whether the unit that is coming in may go on. One of HTTP is judged by its head as soon as that is whole: a right
// credential there has been shown, and its body has its own time. If it may not, it is at fault, or was answered.
bool identity_admits(struct shard *shard, struct peer *peer, const uint8_t *bytes);

// --- In the name of a sender that has gone

// A user's message goes on later, as that user's. A request of HTTP is over by then, and its peer speaks for
// nobody any more.

// The user, and the credential.
struct deferred_sender {
    const struct user *user; // of whatever edition; NULL: nobody
    enum credential kind;
    const struct digest *digest; // of a token
};

// The identity that a peer had before.
struct deferred_identity {
    const struct user *user;
    enum credential kind;
    struct digest digest;
};

// Lets a peer speak for this user, as the users are now, by this credential, and signs the frame so. The
// earlier identity is kept, to be set again by deferred_identity_end, which wipes it.
void deferred_identity_begin(const struct shard *shard, struct peer *peer,
                             const struct deferred_sender *sender, struct frame *frame,
                             struct deferred_identity *previous);
void deferred_identity_end(struct peer *peer, struct deferred_identity *previous);
