// Tells who a message is from, where users are on: by its own credential, or by that of its connection. This
// is judged before all else that a message could mean.
//
// A wrong credential is answered after a delay (authn_throttle.h). Meanwhile, and after that, nothing more of
// the peer is read. A right one never waits.
#pragma once

#include "router/engine/message/message.h"
#include "router/engine/shard/identity.h"
#include "router/rights/authz_cache.h"

static inline bool authn_is_metered(const struct user *user) {
    return users_rights(user)->limits.rate | users_rights(user)->limits.bytes;
}
// Returns whether the message is the common case: the connection is known to be a user's, has a lease for the message's
// cost, if there is a cost, and the message says of its sender what the sender said before. Such a message is paid for.
static inline bool authn_is_plain(struct shard *shard, const struct message *message) {
    enum { BEARING = 1U << KEY_TOKEN | 1U << KEY_AGENT_SECRET };
    const struct identity *identity = identity_there(message->peer);
    const struct user *user = identity->user;
    struct span source = message->lookup.value[KEY_SOURCE_AGENT];
    if (!user || (message->lookup.present & BEARING) ||
        (lookup_has(&message->lookup, KEY_SOURCE_AGENT) &&
         !authz_cache_source(identity, &shard->agents, message->body + source.at)))
        return false;
    return !authn_is_metered(user) ||
           account_lease_pays(&shard->account_leases, user->account, &users_rights(user)->limits,
                              message->frame->body.bytes);
}
// Finds out for whom a message speaks, and whether this user may send another one now. True: it was refused.
bool authn_refuse_anew(struct shard *shard, const struct message *message);
static inline bool authn_refuse(struct shard *shard, const struct message *message) {
    return !authn_is_plain(shard, message) && authn_refuse_anew(shard, message);
}
// Refuses what was held and is to go on where its params.sourceAgent isn't its connection's any more. True: it was refused.
bool authn_refuse_source(struct shard *shard, const struct message *message);
// Judges a frame of HCS as authn_refuse does a message. NULL, or static text that says what is wrong.
const char *authn_fault(struct shard *shard, struct peer *peer, size_t bytes);
// A response, or what can't be read: it counts, but is answered as ever.
// Takes what is no message, of so many bytes, out of the limits of its sender's user. Nothing is refused for that; past
// the limits it is noted that the user is over one.
void authn_meter(struct shard *shard, struct peer *peer, size_t bytes);
void authn_charge_anew(struct shard *shard, const struct peer *peer, size_t bytes);
static inline void authn_charge(struct shard *shard, const struct peer *peer, size_t bytes) {
    const struct user *user = identity_there(peer)->user;
    if (!user || (authn_is_metered(user) && !account_lease_pays(&shard->account_leases, user->account,
                                                                &users_rights(user)->limits, bytes)))
        authn_charge_anew(shard, peer, bytes);
}

// Returns the user with this token; NULL: there is none.
const struct user *authn_token(struct shard *shard, const char *token, size_t bytes);
// A right credential was shown.
void authn_credential_accepted(struct identity *identity);
// For the time of a request of HTTP the peer speaks for this user, by this credential. (A token's digest is
// the caller's to keep there.)
void authn_identify(struct identity *identity, const struct user *user, enum credential kind);
// The request is over, and the peer speaks for nobody.
void authn_forget(struct identity *identity);
// A wrong credential came with a request of HTTP: when the delay is over, transport.deny answers its exchange, which
// is the identity's until then.
void authn_delay(struct shard *shard, struct peer *peer, struct exchange *exchange);
// The timer of an identity went off. True: its peer has shown no credential in its time, and is to be ended.
bool authn_expired(struct shard *shard, struct identity *identity);
// Ends such a peer, which is in the middle of nothing.
void authn_deny(struct shard *shard, struct peer *peer);
// A peer is being closed.
void authn_leave(struct shard *shard, struct peer *peer);

// --- The credential of a connection
//
// The credential that a connection itself bears: the certificate of its TLS, else the user of a Unix socket.

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
