#include "router/route/released.h"

#include <assert.h>
#include <string.h>

#include "router/gate/holding.h"
#include "router/rights/judge.h"
#include "router/route/route.h"

// It was judged when it came, in the depth that held then.
static void look_up(struct message *message, const struct held *held) {
    uint32_t id_bytes_max = held->is_request ? held->id.bytes : 0;
    lookup_body(&message->lookup, message->body, message->frame->body.bytes, id_bytes_max);
    assert(message->lookup.verdict == LOOKUP_GOOD);
    assert(message_is_request(message) == held->is_request);
}

// Its user as the file has them now; a request of HTTP is over, and its peer speaks for nobody any more. What it was
// before, to be set again.
static const struct user *speak(const struct shard *shard, struct peer *peer, const struct held *held,
                                struct frame *frame) {
    struct identity *identity = identity_of(peer);
    const struct user *before = identity ? identity->user : NULL;
    frame->added = NULL;
    frame->added_bytes = 0;
    if (!identity || !held->user || !shard->settings->users)
        return before;
    const char *name = held->user->name;
    const struct user *user = users_by_name(shard->settings->users, name, strlen(name));
    identity->user = user;
    frame->added = user ? user->header : NULL;
    frame->added_bytes = user ? user->header_bytes : 0;
    return before;
}

// For any target and subscriber the level that it requires is satisfied. Its header fields stay.
static void release(struct shard *shard, struct peer *peer, struct held *held) {
    struct unit unit = held->unit;
    struct frame frame = held->frame;
    struct message message;
    unit.directives.governance = GOVERNANCE_AUTONOMOUS;
    frame.unit = &unit;
    message_begin(&message, peer, held->exchange);
    message.frame = &frame;
    message.body = frame_body(&frame);
    message.audit = (enum message_audit)held->audit;
    message.approved = true;
    look_up(&message, held);
    struct identity *identity = identity_of(peer);
    const struct user *before = speak(shard, peer, held, &frame);
    struct attachment *attached = peer->annex->attachment;
    peer->annex->attachment = held->attachment;
    holding_answer(held);
    route_approved(shard, &message);
    peer->annex->attachment = attached;
    if (identity)
        identity->user = before;
    holding_end(shard, held);
}

// What is left is of peers that are about to go, and goes with them.
void released_route(struct shard *shard) {
    struct list *all = &shard->gate->released;
    for (struct list *node = all->next, *next; node != all; node = next) {
        struct held *held = list_entry(node, struct held, by_age);
        struct peer *peer = peer_find(shard, held->source);
        next = node->next;
        assert(held->is_released);
        if (peer)
            release(shard, peer, held);
    }
}
