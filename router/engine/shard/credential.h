// The identity of a connection: its user, and the credential that shows the user. With a users file
// (hub_settings.users) each connection has an identity, in its cold state (peer_cold.h). router/rights finds the user.
// identity.h has the functions that need the peer.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/list.h"
#include "core/base/quota.h"
#include "core/base/wheel.h"
#include "core/rights/digest.h"
#include "core/rights/users.h"
#include "router/engine/shard/peer_cold.h"
#include "router/engine/shard/shard.h"

enum credential_kind {
    CREDENTIAL_NONE,
    CREDENTIAL_TOKEN,
    CREDENTIAL_CERTIFICATE,
    CREDENTIAL_UID,
    CREDENTIAL_CHILD, // the child's section names the user
    CREDENTIAL_HUB,   // another hub names the user of each message
};

// What waits for the delay after a wrong credential: nothing, or the refusal of a message or of an HTTP request.
enum authn_attempt { ATTEMPT_NONE, ATTEMPT_MESSAGE, ATTEMPT_HTTP };

// The last calls that were allowed (router/rights/authz_cache.h).
enum { AUTHZ_CACHE_CALLS = 4, AUTHZ_CACHE_BLOCK_BYTES = 32, AUTHZ_CACHE_TEXT_BYTES_MAX = 64 };

// A string as in the body, with its quotes.
struct authz_cache_text {
    uint32_t beyond; // a mask of the bytes of the first block that lie behind the string
    uint32_t rest;   // bytes of the string behind the first block
    uint8_t json[AUTHZ_CACHE_TEXT_BYTES_MAX];
};

struct authz_cache_call {
    const struct user *user; // NULL: nothing is kept
    uint32_t keys;           // which of the keys that decide are in the call, as bits
    bool plain;              // method and target decide alone, and an agent answers the call
    bool reaches;            // rights decide which members of a group the call may reach
    struct authz_cache_text method, target;
};

struct authz_cache_source {
    uint64_t changes; // the registry's version then
    struct authz_cache_text text;
};

struct authz_cache {
    struct authz_cache_call calls[AUTHZ_CACHE_CALLS];
    struct authz_cache_source source;
};

// The credential of the connection itself. Each review of rights forgets this (router/rights/authn.h).
struct peer_credential {
    const struct users *users; // the users file in which the user was found; NULL: not looked up yet
    const struct user *user;   // NULL: of no user
    enum credential_kind kind;
};

struct identity {
    struct peer *peer;               // the owner
    const struct user *user;         // NULL: not known; over HTTP, of the present request
    struct authz_cache *authz_cache; // NULL: empty
    const struct user *counted_user; // the user whose limit of connections counts this one; or NULL
    enum credential_kind kind : 8;   // by which the user is known
    enum authn_attempt pending_refusal : 8;
    bool was_known;                  // a right credential has been shown, be it for one request
    bool has_peer_credential;        // the connection itself has a credential, and counts as its user's
    bool is_peer_credential_checked; // has_peer_credential is known
    bool over_limit;                 // the peer has sent a message over a limit of its user
    uint32_t over_ms;                // when that was last; a tick
    bool revoked;                    // the credential was revoked: the connection ends, its requests go on
    bool has_uid;                    // a Unix socket told the uid of the process at the other end
    uint32_t uid;                    // with has_uid
    uint64_t address_hash;           // a hash of the peer's address
    struct peer_credential peer_credential;
    struct digest digest;        // of a token
    struct timer timer;          // of the time for a credential, or of the delay after a wrong one
    struct list unauthenticated; // in shard.unauthenticated until the peer has shown a right credential
    uint64_t number;             // while in shard.unauthenticated: the lower, the older
    // The id of a message with a wrong credential, until it is refused; NULL: it had no id
    char *id;
    uint32_t id_bytes;
    struct exchange *exchange; // that waits for that refusal, or NULL
};

// How long a connection may be without a credential.
enum { CREDENTIAL_MS = 10000 };

// Makes the identity of a fresh connection on this socket; -1: no socket. Returns false without memory.
bool identity_take(struct shard *shard, struct peer_cold *cold, int socket);
// Returns a hash of where a connection comes from: an address, or a user of this machine.
uint64_t identity_address_hash(const struct shard *shard, const struct io_peer_address *from);
// Begins the time in which the peer must show a credential.
void identity_wait(struct shard *shard, struct identity *identity);
// Counts the connection as this user's, until it counts as another user's. An HTTP connection counts as well, though
// each request has a user of its own. Returns false, and changes nothing, if the user has too many connections.
bool identity_count_for(struct identity *identity, const struct user *user);
// Counts the connection as no user's.
void identity_uncount(struct identity *identity);
// Tells the acceptor the shard's oldest connection without a credential. Called once a turn.
void identity_publish(struct shard *shard);
// Gives the identity back. NULL is allowed.
void identity_give(struct quota *quota, struct quota *connection_quota, struct identity *identity);

// Returns whether both are the same user. NULL is no user.
bool identity_same(const struct user *one, const struct user *other);
