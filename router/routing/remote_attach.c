#include "router/routing/remote_attach.h"

#include <assert.h>

#include "router/engine/request/refuse.h"
#include "router/forwarding/remote_route.h"
#include "router/methods/attach.h"
#include "router/rights/authz.h"

void remote_attach_route(struct shard *shard, const struct message *message) {
    struct remote_target to = {.kind = SUBJECT_AGENT, .attaches = true};
    char name[AGENT_ID_BYTES_MAX];
    size_t bytes = attach_read(message, name);
    assert(shard->hub->settings.cluster && bytes > 0 && !message->returned);
    if (!authz_attachment(shard, message, name, bytes))
        return;
    to.bytes = subject_escape(to.token, name, bytes);
    if (!remote_target_link(shard))
        remote_target_refuse_down(shard, message);
    else if (!to.bytes || !remote_route_probe(shard, message, &to, false))
        remote_target_refuse(shard, message, ERROR_OVERLOADED);
}
