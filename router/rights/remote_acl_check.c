#include "router/rights/remote_acl_check.h"

#include <assert.h>

#include "router/rights/authz.h"

// An instance of a child bears its name, and a number.
static size_t name_bytes(const struct agent *agent) {
    assert(agent->id_bytes > 0);
    return agent->pool_bytes ? agent->pool_bytes : agent->id_bytes;
}

bool remote_acl_check_in_reach(const void *context, const struct agent *agent) {
    const struct remote_acl *acl = context;
    assert(acl && agent);
    return !remote_acl_denies(acl, agent->id, name_bytes(agent)) && authz_reaches(acl->user, agent);
}

bool remote_acl_check_denies(const struct message *message, const struct agent *agent) {
    const struct remote_acl *acl = remote_acl_check_by(message);
    return acl && remote_acl_denies(acl, agent->id, name_bytes(agent));
}

bool remote_acl_check_holds(const struct message *message, const struct agent *agent) {
    const struct remote_acl *acl = remote_acl_check_by(message);
    return acl && remote_acl_holds(acl, agent->id, name_bytes(agent));
}
