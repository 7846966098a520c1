// Who a message is from, where users are on: the credential that it bears, or that its connection does. It comes
// before all else that a message could mean.
//
// A wrong credential is answered after a delay (guesses.h); meanwhile, and after that, nothing more is heard of the
// peer. A right one never waits.
#pragma once

#include "router/request/message.h"
#include "router/shard/identity.h"

// Finds out for whom a message speaks, and whether this user may send another one now. True: it was refused.
bool entry_refuse(struct shard *shard, const struct message *message);
// Refuses what was held and is to go on where its params.sourceAgent isn't its connection's any more. True: it was refused.
bool entry_refuse_source(struct shard *shard, const struct message *message);
// As entry_refuse of a frame of HCS; NULL, or what is wrong, static.
const char *entry_fault(struct shard *shard, struct peer *peer, size_t bytes);
// A response, or what can't be read: it counts, but is answered as ever.
void entry_charge(struct shard *shard, const struct peer *peer, size_t bytes);

// Who bears this token; NULL: nobody.
const struct user *entry_token(struct shard *shard, const char *token, size_t bytes);
// A right credential was shown.
void entry_shown(struct identity *identity);
// Of HTTP: for the time of a request the peer speaks for this user, by this credential. (A token's digest is the
// caller's to keep there.)
void entry_speaks(struct identity *identity, const struct user *user, enum credential kind);
// From now on, until it is another user's, it is one of this user's connections: one of HTTP as well, though each of its
// requests is somebody's for itself. False where the user has too many; then nothing has changed.
bool entry_counts(struct identity *identity, const struct user *user);
// The request is over, and the peer speaks for nobody.
void entry_forget(struct identity *identity);
// A wrong credential came with a request of HTTP: when the delay is over, transport.deny answers its exchange, which
// is the identity's until then.
void entry_guess(struct shard *shard, struct peer *peer, struct exchange *exchange);
// The timer of an identity went off. True: its peer has shown no credential in its time, and is to be ended.
bool entry_expired(struct shard *shard, struct identity *identity);
// Ends such a peer, which is in the middle of nothing.
void entry_deny(struct shard *shard, struct peer *peer);
// A peer is being closed.
void entry_leave(struct shard *shard, struct peer *peer);
