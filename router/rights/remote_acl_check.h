// Which agents what comes from another hub may not reach, or not yet, by what that hub says of its source (core/cluster/remote_acl.h).
#pragma once

#include "core/agents/agent.h"
#include "core/cluster/remote_acl.h"
#include "router/engine/message/message.h"

// NULL: that hub says nothing of it, or the message came from no hub.
static inline const struct remote_acl *remote_acl_check_by(const struct message *message) {
    const struct annex *annex = message->peer->annex;
    return annex ? annex->acl : NULL;
}
// Whether one of a group may be reached, by that and by this hub's own file: as rules ask it, `context` is the fence.
bool remote_acl_check_in_reach(const void *context, const struct agent *agent);
bool remote_acl_check_denies(const struct message *message, const struct agent *agent);
// Whether it must be approved before it reaches that agent.
bool remote_acl_check_holds(const struct message *message, const struct agent *agent);
// Somebody has approved it.
static inline bool remote_acl_check_is_approved(const struct message *message) {
    const struct remote_acl *acl = remote_acl_check_by(message);
    return acl && acl->approved;
}
