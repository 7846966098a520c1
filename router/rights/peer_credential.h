// The credential that a connection itself bears: the certificate of its TLS, else the user of a Unix socket.
#pragma once

#include "router/engine/shard/identity.h"

// Returns the user with the connection's credential by the users in effect now, and which credential it is.
// NULL: there is none, or a certificate for which no authority in effect now vouches. The user is looked up
// once, and once more when the users have changed: names of a certificate have to be decoded.
const struct user *peer_credential_user(const struct shard *shard, const struct peer *peer,
                                        enum credential *kind);
// Returns the user that now has the credential by which a peer, or its message, was known as this user's;
// NULL: there is none. `digest` is a token's.
const struct user *peer_credential_lookup(const struct shard *shard, const struct peer *peer,
                                          const struct user *user, enum credential kind,
                                          const struct digest *digest);
// Returns whether a message of a peer, as this user and by this credential, is nobody's or another user's by
// now. Requests of a connection that was closed for that go on.
bool peer_credential_is_gone(const struct shard *shard, const struct peer *peer, const struct user *user,
                             enum credential kind, const struct digest *digest);
// The users have changed. A connection without a known user has a credential from now on, or none any more,
// and then it has its time to show one.
void peer_credential_review(struct shard *shard, struct peer *peer);
// A connection whose handshake may be over by now, and which nobody has looked at: what it bears counts from now on, among
// its user's connections too. Where those are too many it is as one that bears none, and looked at again.
void peer_credential_look(struct shard *shard, struct peer *peer);
