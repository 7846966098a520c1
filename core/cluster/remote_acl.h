// Which agents a message may not reach at another hub, or not before somebody approves it, by the users file of its source's hub: that
// hub doesn't know whom the other one would choose of a group, so it says so. Two lists of patterns of agents, as pairs of a mark:
//
//     deny=deploy-*,vault hold=review-1
#pragma once

#include "core/json/json.h"
#include "core/rights/users.h"

enum {
    REMOTE_ACL_PATTERNS_MAX = 64, // of each list
    REMOTE_ACL_BYTES_MAX = 1024,  // of both, with their keys
    REMOTE_ACL_UNTOLD = -1,
};

struct remote_acl_list {
    struct pattern patterns[REMOTE_ACL_PATTERNS_MAX];
    struct pattern_set set;
};

struct remote_acl {
    struct remote_acl_list denied, held;
    bool approved;           // somebody has approved it: nothing of it is held any more
    const struct user *user; // whose rights count besides, at this hub; NULL: nobody's
};

// Whether a user's lines name agents at all: a message of others needs none.
static inline bool remote_acl_is_needed(const struct user *user) {
    return !pattern_set_is_empty(&users_rights(user)->denied[RIGHT_CALL][KIND_AGENT]) ||
           !pattern_set_is_empty(&users_rights(user)->given[RIGHT_HOLD][KIND_AGENT]);
}
// Writes both lists, a blank before each; returns their length, or REMOTE_ACL_UNTOLD where that is too much to be told.
int remote_acl_write(char out[REMOTE_ACL_BYTES_MAX], const struct user *user);
// The same, kept, by one edition of the users file.
struct remote_acl_text {
    const struct user *user; // NULL: nothing is
    uint32_t number;         // users.number
    int count;
    char text[REMOTE_ACL_BYTES_MAX];
};
// Reads them; bytes 0: there is none. The patterns lie in `bytes`. What can't be read denies all.
void remote_acl_read(struct remote_acl *out, const uint8_t *bytes, struct span denied, struct span held);
bool remote_acl_denies(const struct remote_acl *acl, const char *agent, size_t bytes);
// Whether it waits for approval.
bool remote_acl_holds(const struct remote_acl *acl, const char *agent, size_t bytes);
