// Users and their rights: a users file, read and made ready for judgement (core/rights/rights.h). A file doesn't change
// after it was read. Shards share the file; all of its memory is freed with its last reference.
//
// A user has the same address in the next file: a pointer to a user is valid as long as any later file is in use. A
// user's rights are those of the file that the thread judges by (users_judge_by).
//
// The file is INI, one key a line; `;` or `#` begins a comment at a line's beginning, and ` ;` behind a value. There
// are no continued lines. Sections are [user NAME] and [role NAME]; a user has the roles in its `roles = …`. Lists are
// separated by commas or blanks, and the lists of a user and of the user's roles add up. If a single value is given
// several times, the user's own counts, else the first role's.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/governance.h"
#include "core/base/siphash.h"
#include "core/rights/account.h"
#include "core/rights/digest.h"
#include "core/rights/patterns.h"
#include "core/wire/wire.h"

enum {
    USERS_FILE_BYTES_MAX = 16 * 1024 * 1024,
    USERS_PATTERNS_MAX = 1024 * 1024, // of all users, and for each user those of the user's roles
    USER_NAME_BYTES_MAX = 128,        // may have letters, digits, and -_.:/@+
    PATTERN_BYTES_MAX = 255,          // the same as of agentIds, methods and events
    USERS_GONE_MAX = 256 * 1024,      // users of earlier files that are remembered
};

#define USERS_NO_PLACE UINT32_MAX
#define USER_HEADER    "Patchbay-User: "

// The lists of patterns.
enum right {
    RIGHT_REGISTER,  // agents
    RIGHT_OFFER,     // @capability, tool:, method:
    RIGHT_CALL,      // agents, @capability, tool:, method:
    RIGHT_PUBLISH,   // events
    RIGHT_SUBSCRIBE, // events
    RIGHT_HOLD,      // all of these kinds; there is no deny-hold
    RIGHTS_COUNT
};

// The kind of a pattern or a name. The spelling in the file decides the kind:
enum right_kind {
    KIND_AGENT,      // NAME
    KIND_CAPABILITY, // @NAME
    KIND_TOOL,       // tool:NAME
    KIND_METHOD,     // method:NAME
    KIND_EVENT,      // NAME, in `hold` event:NAME
    KINDS_COUNT
};

// A user's rights in one file.
struct user_rights {
    uint32_t line; // the line of the user's section
    bool admin;
    enum governance level;           // the strictest level that the user's agents may support
    uint32_t admin_line, level_line; // 0: the key isn't given
    struct account_limits limits;
    const struct pattern *patterns;
    struct pattern_set granted[RIGHTS_COUNT][KINDS_COUNT];
    struct pattern_set denied[RIGHTS_COUNT][KINDS_COUNT];
};

// The user of a name, in all files since the first one with that name. Only the number of references changes.
struct user {
    uint32_t place;              // index in users.places; USERS_NO_PLACE: none
    _Atomic uint32_t references; // number of files that have or remember the user
    const char *name;            // terminated
    struct account *account;
    struct wire_line header; // the line Patchbay-User of the user's frames
};

// The keys by which users are found. Tokens are sorted by a hash of their digests under a secret key, so that the time
// of a search tells nothing of a digest. Names are sorted by their bytes.
struct user_token {
    uint64_t hash;
    struct digest digest;
    const struct user *user;
};

struct user_name {
    const char *name;
    size_t bytes;
    struct user *user;
};

struct user_uid {
    uint32_t uid;
    const struct user *user;
};

struct users {
    _Atomic uint32_t references;
    struct siphash_key key;
    char *text; // text of the file, with the names and patterns
    size_t text_bytes;
    uint32_t number; // number of files before this one
    struct user **list;
    struct user_rights *rights;        // of each user in `list`
    const struct user_rights **places; // by user.place; users_no_rights for users that are gone
    struct user_name *gone;            // users of earlier files that aren't in this file, sorted
    uint32_t count, gone_count, place_count, token_count, certificate_count, uid_count;
    struct pattern *patterns;
    struct user_token *tokens;
    struct user_name *names, *certificates;
    struct user_uid *uids;
    uint32_t hold_line;   // the first line with a `hold`; 0: none
    struct digest digest; // digest of the file's text
};

// A fault of a users file. Line 0: the fault concerns no particular line.
struct users_fault {
    uint32_t line;
    const char *key;      // the key in that line, or NULL; valid during the call
    const char *expected; // static text, which doesn't tell the value
};

// Is called with each fault, in the order of lines.
typedef void users_complain(void *context, const struct users_fault *fault);

// The file by which this thread judges; NULL: none, and no user may be judged.
extern _Thread_local const struct users *users_judging;
extern const struct user_rights users_no_rights;
// Sets the file by which this thread judges from now on. The file must stay until the thread judges by another one.
// Returns the file before.
static inline const struct users *users_judge_by(const struct users *users) {
    const struct users *before = users_judging;
    users_judging = users;
    return before;
}
// Returns a user's rights in the file that the thread judges by. A user that isn't in the file has no rights.
static inline const struct user_rights *users_rights(const struct user *user) {
    return user->place < users_judging->place_count ? users_judging->places[user->place] : &users_no_rights;
}

// Reads a file's text. Returns the file with one reference; NULL if there is a fault, or without memory (line 0).
// `before` is the file before, or NULL: users that are in it, or that are gone since the first file, keep their
// accounts. A hub remembers USERS_GONE_MAX gone users; after that, a new name is a fault. `key` must be secret, so that
// peers can't learn digests from the time of a search.
struct users *users_read(const char *text, size_t bytes, const struct siphash_key *key,
                         const struct users *before, users_complain *complain, void *context);
// Returns whether the users were read from this text.
bool users_are_of(const struct users *users, const char *text, size_t bytes);
struct users *users_hold(struct users *users);
// Drops a reference, on any thread. NULL is allowed.
void users_drop(struct users *users);

uint32_t users_count(const struct users *users);
const struct user *users_at(const struct users *users, uint32_t index); // `index` counts in the file's order
// Returns the rights of users_at(users, index) in this file.
const struct user_rights *users_rights_at(const struct users *users, uint32_t index);
// Returns the first line with a `hold`, which requires a gate; 0: there is none.
uint32_t users_hold_line(const struct users *users);
// Returns whether any user has a certificate's name: then TLS must ask for certificates.
bool users_have_certificates(const struct users *users);

// Returns the user with that credential, or NULL. The result is valid as long as `users`, or a file that was read
// later, is in use.
const struct user *users_by_name(const struct users *users, const char *name, size_t bytes);
// Returns the user of this name, even one that is gone. For users_read alone.
struct user *users_known(const struct users *users, const char *name, size_t bytes);
const struct user *users_by_token(const struct users *users, const char *token, size_t bytes);
// Compares the whole name byte for byte; no user has a name with a zero byte.
const struct user *users_by_certificate(const struct users *users, const char *name, size_t bytes);
const struct user *users_by_uid(const struct users *users, uint32_t uid);
// Finds a user by a token's digest. A connection keeps the digest, not the token, to be judged again after a reload.
const struct user *users_by_digest(const struct users *users, const struct digest *digest);
