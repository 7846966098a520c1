// Finds the user of each message, with a users file: by the credential of the message, or of its connection. This comes
// before all other checks of a message.
//
// A wrong credential is refused after a delay (authn_throttle.h). From the wrong credential on, the peer isn't read any
// more. A right credential is never delayed.
#pragma once

#include "router/engine/message/message.h"
#include "router/engine/shard/identity.h"
#include "router/rights/authz_cache.h"

// Returns whether the user has a limit of messages or bytes a second.
static inline bool authn_is_metered(const struct user *user) {
    return users_rights(user)->limits.rate | users_rights(user)->limits.bytes;
}
// Returns whether the message is the common case: the connection's user is known, the message has no credential and the
// same sourceAgent as the last message, and the user's lease pays for it. Then the message has been paid for.
static inline bool authn_is_plain(struct shard *shard, const struct message *message) {
    enum { BEARING = 1U << KEY_TOKEN | 1U << KEY_AGENT_SECRET };
    const struct identity *identity = identity_required(message->peer);
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
// Finds the user of a message, and checks the user's limits. Returns whether the message was refused.
bool authn_refuse_slow(struct shard *shard, const struct message *message);
// Finds the user of a message and checks the user's limits, as authn_refuse_slow, without work in the common case.
static inline bool authn_refuse(struct shard *shard, const struct message *message) {
    return !authn_is_plain(shard, message) && authn_refuse_slow(shard, message);
}
// Refuses a message that was held if its sourceAgent isn't an agent of the connection any more. Returns whether it was
// refused.
bool authn_refuse_source(struct shard *shard, const struct message *message);
// Checks a frame of HCS as authn_refuse checks a message. Returns NULL, or static text that tells the fault.
const char *authn_fault(struct shard *shard, struct peer *peer, size_t bytes);
// Charges the user's limits for a response, or for a body that can't be read. Refuses nothing. Past a limit, notes that
// the user is over the limit.
void authn_meter(struct shard *shard, struct peer *peer, size_t bytes);
// Charges as authn_charge does, where the user's lease doesn't pay.
void authn_charge_slow(struct shard *shard, const struct peer *peer, size_t bytes);
// Charges the user's limits for bytes that are no routed message. Refuses nothing.
static inline void authn_charge(struct shard *shard, const struct peer *peer, size_t bytes) {
    const struct user *user = identity_required(peer)->user;
    if (!user || (authn_is_metered(user) && !account_lease_pays(&shard->account_leases, user->account,
                                                                &users_rights(user)->limits, bytes)))
        authn_charge_slow(shard, peer, bytes);
}

// Returns the user with this token; NULL: there is none.
const struct user *authn_token(struct shard *shard, const char *token, size_t bytes);
// Notes that the peer has shown a right credential.
void authn_credential_accepted(struct identity *identity);
// Lets the peer speak for this user, by this credential, for the time of an HTTP request. The caller must set the
// digest of a token.
void authn_identify(struct identity *identity, const struct user *user, enum credential_kind kind);
// Ends the peer's time as a user (authn_identify): the peer speaks for no user.
void authn_forget(struct identity *identity);
// Begins the delay after a wrong credential in an HTTP request. The identity owns the exchange until then;
// peer_ops.end answers it.
void authn_delay(struct shard *shard, struct peer *peer, struct exchange *exchange);
// Handles the timer of an identity. Returns whether the peer must be ended, since it has shown no credential in time.
bool authn_expired(struct shard *shard, struct identity *identity);
// Ends a peer that has shown no right credential. No unit of the peer may be coming in.
void authn_deny(struct shard *shard, struct peer *peer);
// Ends what authn keeps of a peer that is being closed.
void authn_leave(struct shard *shard, struct peer *peer);

// --- The credential of a connection
//
// The credential that a connection itself has: its TLS certificate, or the uid of a Unix socket.

// Returns the user with the connection's credential by the users in effect now, and which credential it is.
// NULL: there is none, or a certificate for which no authority in effect now vouches. The user is looked up
// once, and once more when the users have changed: names of a certificate have to be decoded.
const struct user *peer_credential_user(const struct shard *shard, const struct peer *peer,
                                        enum credential_kind *kind);
// Returns the user that now has the credential by which a peer, or its message, was known as this user's;
// NULL: there is none. `digest` is a token's.
const struct user *peer_credential_lookup(const struct shard *shard, const struct peer *peer,
                                          const struct user *user, enum credential_kind kind,
                                          const struct digest *digest);
// Returns whether the credential of a message isn't this user's any more. Requests of a connection that was closed for
// that go on.
bool peer_credential_is_gone(const struct shard *shard, const struct peer *peer, const struct user *user,
                             enum credential_kind kind, const struct digest *digest);
// Finds the user of a connection anew after the users file has changed. A connection that has no credential any more
// gets its time to show one.
void peer_credential_review(struct shard *shard, struct peer *peer);
// Looks up the credential of a connection once its TLS handshake is over, and counts the connection as its user's. If
// the user has too many connections, this one counts as one without a credential, and is looked up again later.
void peer_credential_attach(struct shard *shard, struct peer *peer);
