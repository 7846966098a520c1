#include "router/route/attaching.h"

#include <assert.h>

#include "router/engine/request/refuse.h"
#include "router/methods/attach.h"
#include "router/rights/authz.h"
#include "router/route/across.h"

void attaching_route(struct shard *shard, const struct message *message) {
    struct elsewhere to = {.kind = SUBJECT_AGENT, .attaches = true};
    char name[AGENT_ID_BYTES_MAX];
    size_t bytes = attach_read(message, name);
    assert(shard->hub->settings.cluster && bytes > 0 && !message->returned);
    if (!authz_attachment(shard, message, name, bytes))
        return;
    to.bytes = subject_escape(to.token, name, bytes);
    if (!elsewhere_link(shard))
        elsewhere_refuse_down(shard, message);
    else if (!to.bytes || !across_probe(shard, message, &to, false))
        elsewhere_refuse(shard, message, ERROR_OVERLOADED);
}
