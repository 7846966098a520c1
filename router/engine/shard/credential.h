// The user that a connection speaks for, where users are on (hub_settings.users): then each connection has
// one, in its cold state (peer_cold.h). The identity is kept here; router/rights finds it. The identity knows no peer
// (identity.h does).
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

enum credential {
    CREDENTIAL_NONE,
    CREDENTIAL_TOKEN,
    CREDENTIAL_CERTIFICATE,
    CREDENTIAL_UID,
    CREDENTIAL_CHILD, // its section names the user
    CREDENTIAL_HUB,   // another hub says whose a message is
};

// A credential was wrong, and the delay until that is said.
enum authn_attempt { ATTEMPT_NONE, ATTEMPT_MESSAGE, ATTEMPT_HTTP };

// Calls that were found right (router/rights/authz_cache.h).
enum { AUTHZ_CACHE_CALLS = 4, AUTHZ_CACHE_BLOCK_BYTES = 32, AUTHZ_CACHE_TEXT_BYTES_MAX = 64 };

// A string as it lies in JSON, with its quotes.
struct authz_cache_text {
    uint32_t beyond; // bits: of its first block, the bytes that lie behind it
    uint32_t rest;   // how many of its bytes lie behind that block
    uint8_t json[AUTHZ_CACHE_TEXT_BYTES_MAX];
};

struct authz_cache_call {
    const struct user *user; // NULL: nothing is kept
    uint32_t keys;           // of those that decide, which it has
    bool plain;              // nothing else of it is judged, and it is an agent's to answer
    bool reaches;            // whom of a group it reaches is judged
    struct authz_cache_text method, target;
};

struct authz_cache_source {
    uint64_t changes; // of agents, when it was
    struct authz_cache_text text;
};

struct authz_cache {
    struct authz_cache_call calls[AUTHZ_CACHE_CALLS];
    struct authz_cache_source source;
};

// The connection's own credential, by these users: each review of rights forgets it (router/rights/authn.h).
struct peer_credential {
    const struct users *users; // NULL: nobody has looked
    const struct user *user;   // NULL: nobody's
    enum credential kind;
};

struct identity {
    struct peer *peer;               // whose it is
    const struct user *user;         // NULL: nobody yet; of HTTP, for the time of a request
    struct authz_cache *authz_cache; // NULL: nothing yet
    const struct user *counted;      // among whose connections it is; or NULL
    enum credential kind : 8;        // by which it is the user's
    enum authn_attempt attempt : 8;
    bool was_known;   // a right credential has been shown, be it for one request
    bool bears;       // the connection itself bears one, and is among its user's
    bool looked;      // whether it does is known
    bool over_limit;  // it has sent something that was over a limit of its user's
    uint32_t over_ms; // when it last did; a tick
    bool revoked;     // its credential is gone, and so is the connection; what it asked goes on
    bool has_uid;     // of the process at the other end of a Unix socket
    uint32_t uid;     // then
    uint64_t origin;  // where it comes from, as a hash
    struct peer_credential peer_credential;
    struct digest digest; // of a token
    struct timer timer;   // until there must be a credential; or of the delay
    struct list unknown;  // in shard.unknown while it has shown none
    uint64_t number;      // then: the lower, the older
    char *id;             // of a message whose credential was wrong, while that isn't said; NULL: it had none
    uint32_t id_bytes;
    struct exchange *exchange; // that the answer is due to, or NULL
};

// How long a connection may be without a credential.
enum { CREDENTIAL_MS = 10000 };

// Makes one for a connection that has come, on this socket; -1: it has none. False without memory.
bool identity_take(struct shard *shard, struct peer_cold *cold, int socket);
// A hash of where a connection on this socket comes from: an address, or a user of the machine.
uint64_t identity_origin(const struct shard *shard, const struct io_origin *origin);
// From now on it has its time to show a credential.
void identity_wait(struct shard *shard, struct identity *identity);
// From now on, until it is another user's, it is one of this user's connections: one of HTTP as well, though each of its
// requests is somebody's for itself. False where the user has too many; then nothing has changed.
bool identity_counts(struct identity *identity, const struct user *user);
// It is nobody's.
void identity_uncount(struct identity *identity);
// Tells the acceptor which is the oldest without a credential. Once a turn.
void identity_publish(struct shard *shard);
// Gives it back. NULL is allowed.
void identity_give(struct quota *quota, struct quota *places, struct identity *identity);

// Whether two users are the same one. NULL is nobody's.
bool identity_same(const struct user *one, const struct user *other);
