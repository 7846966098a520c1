// The credential that a connection itself bears: the certificate of its TLS, else the user of a Unix socket.
#pragma once

#include "router/engine/shard/identity.h"

// Who has it by the users in effect now, and which it is; NULL: nobody, or a certificate for which no authority in effect now
// vouches. It is looked up once, and once more when the users have changed: what a certificate says has to be decoded.
const struct user *peer_credential_user(const struct shard *shard, const struct peer *peer,
                                        enum credential *kind);
// Who has now the credential by which a peer, or what it sent, was known as this user's; NULL: nobody. `digest` is a token's.
const struct user *peer_credential_anew(const struct shard *shard, const struct peer *peer,
                                        const struct user *user, enum credential kind,
                                        const struct digest *digest);
// Whether what a peer sent, as this user and by this credential, is nobody's or another one's by now. Of a connection that was closed for
// that, what it asked goes on.
bool peer_credential_is_gone(const struct shard *shard, const struct peer *peer, const struct user *user,
                             enum credential kind, const struct digest *digest);
// The users have changed: one that nobody has shown to be somebody's bears a credential from now on, or none any more,
// and then it has its time to show one.
void peer_credential_review(struct shard *shard, struct peer *peer);
// A connection whose handshake may be over by now, and which nobody has looked at: what it bears counts from now on, among
// its user's connections too. Where those are too many it is as one that bears none, and looked at again.
void peer_credential_look(struct shard *shard, struct peer *peer);
