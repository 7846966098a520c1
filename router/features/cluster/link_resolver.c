#include "router/features/cluster/link_resolver.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "router/engine/shard/feature.h"
#include "router/features/feature_list.h"

static void arm(struct link_resolver *resolving, struct io *io) {
    if (resolving->is_heard || !resolving->resolver)
        return;
    resolving->is_heard = true;
    io_receive(io, resolving->resolver->socket, FEATURE_TOKEN(FEATURE_CLUSTER, CLUSTER_TOKEN_RESOLVER),
               false);
}

void link_resolver_forget(struct link_resolver *resolving) {
    resolving->answer.count = resolving->next = 0;
    resolving->number++;
}

bool link_resolver_ask(struct link_resolver *resolving, struct io *io, const struct nats_url *url) {
    struct resolver_question question = {.port = url->port};
    static_assert(sizeof question.host == sizeof url->host, "a name fits");
    if (!resolving->resolver)
        return false;
    link_resolver_forget(resolving);
    question.number = resolving->number;
    memcpy(question.host, url->host, sizeof question.host);
    arm(resolving, io);
    io_send_now(io, resolving->resolver->socket, &question, sizeof question);
    return true;
}

// A packet comes whole.
static bool take(struct link_resolver *resolving, const struct io_event *event) {
    struct resolver_answer answer;
    if (event->result != sizeof answer)
        return false;
    memcpy(&answer, buffer_arrival(event->buffer), sizeof answer);
    if (answer.number != resolving->number || answer.count > RESOLVER_ADDRESSES_MAX ||
        resolving->answer.count)
        return false;
    resolving->answer = answer;
    return true;
}

bool link_resolver_hear(struct link_resolver *resolving, struct io *io, const struct io_event *event) {
    bool fresh = event->result > 0 && take(resolving, event);
    assert(resolving->is_heard);
    buffer_drop(event->buffer);
    resolving->is_heard = event->more;
    if (!event->more && (event->result > 0 || event->result == -ENOBUFS || event->result == -EINTR))
        arm(resolving, io);
    else if (!event->more && event->result != -ECANCELED)
        resolving->resolver = NULL; // it has gone
    return fresh;
}

void link_resolver_stop(struct link_resolver *resolving, struct io *io) {
    if (resolving->is_heard && resolving->resolver)
        io_cancel(io, resolving->resolver->socket, FEATURE_TOKEN(FEATURE_CLUSTER, CLUSTER_TOKEN_RESOLVER));
    resolving->resolver = NULL;
}
