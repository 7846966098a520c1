// Users and their rights: a users file, read and made ready for judgement (core/rights/rights.h). Nothing of
// it changes after it was read. Shards share it, and it goes as a whole with its last reference.
//
// A user stays at its address when the file is read again: a pointer to a user is good as long as any later file is in
// use. A user's rights are those of the file that the thread judges by (users_judge_by).
//
// The file is INI, one key a line, `;` or `#` begins a comment at a line's beginning and ` ;` behind a value.
// Lines are not continued. Sections are [user NAME] and [role NAME]; a role is taken up by `roles = …` of a
// user. Lists are separated by commas or blanks, and lists of a user and its roles add up. If a single value
// is given several times, the user's own counts, else the first role's.
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
    USERS_PATTERNS_MAX = 1024 * 1024, // of all users, those of their roles with each
    USER_NAME_BYTES_MAX = 128,        // letters, digits, and -_.:/@+
    PATTERN_BYTES_MAX = 255,          // as agentIds, methods and events
    USERS_GONE_MAX = 256 * 1024,      // users that are remembered and no longer in the file
};

#define USERS_NO_PLACE UINT32_MAX
#define USER_HEADER    "Patchbay-User: "

// The lists of patterns.
enum right {
    RIGHT_REGISTER,  // agents
    RIGHT_OFFER,     // @capability, tool:, method:
    RIGHT_CALL,      // the same, and agents
    RIGHT_PUBLISH,   // events
    RIGHT_SUBSCRIBE, // events
    RIGHT_HOLD,      // all of these kinds; there is no deny-hold
    RIGHTS_COUNT
};

// The kind of a pattern, or of a name, which its spelling in the file tells.
enum right_kind {
    KIND_AGENT,      // as it is
    KIND_CAPABILITY, // @NAME
    KIND_TOOL,       // tool:NAME
    KIND_METHOD,     // method:NAME
    KIND_EVENT,      // as it is, for hold event:NAME
    KINDS_COUNT
};

// A user's rights in one file.
struct user_rights {
    uint32_t line; // of its section
    bool admin;
    enum governance level;           // the strictest that its agents may support
    uint32_t admin_line, level_line; // 0: not given
    struct account_limits limits;
    const struct pattern *patterns;
    struct pattern_set granted[RIGHTS_COUNT][KINDS_COUNT];
    struct pattern_set denied[RIGHTS_COUNT][KINDS_COUNT];
};

// The user of a name, in whatever file. Nothing of it changes but the number of references.
struct user {
    uint32_t place;              // in users.places; USERS_NO_PLACE: in none
    _Atomic uint32_t references; // of files that know it
    const char *name;            // terminated
    struct account *account;
    struct wire_line header; // that tells whose a frame is
};

// The keys by which users are found. Tokens are sorted by the hash of their digests under a secret key, so
// that the time of a search says nothing of them. Names are sorted by their bytes.
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
    char *text; // of the file: names and patterns lie there
    size_t text_bytes;
    uint32_t number; // one more than of the file before
    struct user **list;
    struct user_rights *rights;        // of [user]
    const struct user_rights **places; // by user.place; of those that are gone, no rights
    struct user_name *gone;            // users of files before that this one hasn't, sorted
    uint32_t count, gone_count, place_count, token_count, certificate_count, uid_count;
    struct pattern *patterns;
    struct user_token *tokens;
    struct user_name *names, *certificates;
    struct user_uid *uids;
    uint32_t hold_line;   // 0: none
    struct digest digest; // of the file
};

// A fault of a users file. Line 0: the fault is in no particular line.
struct users_fault {
    uint32_t line;
    const char *key;      // as it stands there, NULL where it is about none; valid while it is told
    const char *expected; // static text, which says nothing of the value
};

// Is told each fault, in the order of lines.
typedef void users_complain(void *context, const struct users_fault *fault);

// The file by which this thread judges; NULL: none, and nobody may be judged.
extern _Thread_local const struct users *users_judging;
extern const struct user_rights users_no_rights;
// From now on this thread judges by that file, which must stay until it judges by another one. Returns the one before.
static inline const struct users *users_judge_by(const struct users *users) {
    const struct users *before = users_judging;
    users_judging = users;
    return before;
}
// Returns a user's rights in the file that the thread judges by. A user that isn't in the file has no rights.
static inline const struct user_rights *users_rights(const struct user *user) {
    return user->place < users_judging->place_count ? users_judging->places[user->place] : &users_no_rights;
}

// Reads a file's text. NULL where it has a fault, or memory is used up (line 0). `before`, which may be NULL, is the file
// before: its users go on, with their accounts, and so do those that are gone since the first file. A hub remembers
// USERS_GONE_MAX of these; after that, a file with a name that is new has a fault. `key` is secret: it keeps peers from
// learning digests from how long a search takes. One reference.
struct users *users_read(const char *text, size_t bytes, const struct siphash_key *key,
                         const struct users *before, users_complain *complain, void *context);
// Whether this is the text of the file that the users were read from.
bool users_are_of(const struct users *users, const char *text, size_t bytes);
struct users *users_hold(struct users *users);
// From any thread. NULL is allowed.
void users_drop(struct users *users);

uint32_t users_count(const struct users *users);
const struct user *users_at(const struct users *users, uint32_t index); // in the file's order
// Returns the rights of users_at(users, index) in this file.
const struct user_rights *users_rights_at(const struct users *users, uint32_t index);
// The first line by which any has a `hold`: then there must be a gate. 0: none has.
uint32_t users_hold_line(const struct users *users);
// Whether any is found by a certificate's name: then TLS must ask for certificates.
bool users_have_certificates(const struct users *users);

// Returns the user with that credential; NULL: there is none. The result is good as long as `users`, or a file that was
// read after them, is.
const struct user *users_by_name(const struct users *users, const char *name, size_t bytes);
// Returns the user of this name, also one that is gone. For users_read alone.
struct user *users_known(const struct users *users, const char *name, size_t bytes);
const struct user *users_by_token(const struct users *users, const char *token, size_t bytes);
// Whole and byte for byte; a name with a zero byte is nobody's.
const struct user *users_by_certificate(const struct users *users, const char *name, size_t bytes);
const struct user *users_by_uid(const struct users *users, uint32_t uid);
// By what users_by_token compares, so that a connection keeps no token to be judged again after a reload.
const struct user *users_by_digest(const struct users *users, const struct digest *digest);
