#include "router/routing/fallback_route.h"

#include <assert.h>

#include "router/engine/message/fallback.h"
#include "router/engine/message/stall_queue.h"
#include "router/engine/request/refuse.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/post.h"
#include "router/events/events.h"
#include "router/routing/deferred_identity.h"
#include "router/routing/route.h"
#include "router/routing/route_query.h"
#include "router/routing/spill_return.h"

static void make(struct message *message, struct peer *peer, struct message_copy *offered,
                 const struct spill_reason *returned) {
    message_begin(message, peer, NULL);
    message->frame = &offered->frame;
    message->body = frame_body(&offered->frame);
    message->approved = offered->approved;
    message->audit = offered->audit;
    message->returned = returned;
    lookup_body(&message->lookup, message->body, message->frame->body.bytes, 0);
    assert(message->lookup.verdict == LOOKUP_GOOD && !message_is_request(message));
}

static void go_on(struct shard *shard, struct peer *peer, struct message_copy *offered, bool asks) {
    struct spill_reason returned = {.nobody = true, .sought = true, .probed = asks, .given = offered->given};
    struct message message;
    make(&message, peer, offered, &returned);
    spill_return_route(shard, &message, offered);
}

// Somebody is there whom it names, and whom its source may not ask.
static void refuse_asked(struct shard *shard, struct peer *peer, struct message_copy *offered) {
    struct spill_reason returned = {.sought = true, .given = offered->given};
    struct message message;
    make(&message, peer, offered, &returned);
    route_query_read_method(&message);
    refuse_right(shard, &message, RULE_CALL);
}

// `end` is what is known of it.
static void settle(struct shard *shard, struct fallback *sought, enum fallback_end end) {
    struct peer *peer = peer_find(shard, sought->source);
    struct message_copy *offered = sought->message;
    if (peer && end == FALLBACK_NOBODY)
        go_on(shard, peer, offered, sought->asks);
    else if (peer && end == FALLBACK_SOMEBODY && sought->asks)
        refuse_asked(shard, peer, offered);
    else if (end == FALLBACK_NOBODY || sought->asks)
        drop_one(shard, COUNT_DROP_NO_ROUTE, sought->source, offered->frame.body.bytes);
    fallback_forget(shard, sought);
}

// As it would have been when it came. A connection's credential, but of HTTP, is what those before it have shown.
static void route_stalled(struct shard *shard, struct peer *peer, struct stalled_unit *stalled) {
    struct speaker speaker = {stalled->user, stalled->kind, &stalled->digest};
    struct deferred_identity before;
    if (stalled->user)
        deferred_identity_begin(shard, peer, &speaker, &stalled->frame, &before);
    route_waited(shard, peer, &stalled->frame, stalled->exchange, stalled->is_member);
    events_flush(shard);
    if (stalled->user)
        deferred_identity_end(peer, &before);
}

// A batch of its has brought an exit: what was said behind it isn't routed, and it goes once nothing is sought.
static bool exits(struct shard *shard, struct peer *peer) {
    assert(peer->state == PEER_OPEN);
    if (peer->annex->exits && list_empty(&peer->annex->sought))
        peer_linger(shard, peer);
    return peer->annex->exits;
}

// Until one of those that waited is sought itself; `hurries`: it may not wait any more. What is left of a batch comes before what was said
// behind that.
static void go_on_behind(struct shard *shard, struct peer *peer, bool hurries) {
    struct annex *annex = peer->annex;
    struct list behind;
    list_init(&behind);
    while (peer->state == PEER_OPEN && !exits(shard, peer) && (hurries || list_empty(&annex->sought))) {
        struct stalled_unit *stalled = stall_queue_take(peer);
        if (!stalled)
            break;
        peer->stalled = false;
        list_move_all(&annex->stalled, &behind);
        route_stalled(shard, peer, stalled);
        list_move_all(&behind, &annex->stalled);
        route_over(shard, peer, stalled->exchange);
        stall_queue_end(shard, stalled);
    }
    peer->stalled = !list_empty(&annex->sought) || !list_empty(&annex->stalled);
}

static void end(struct shard *shard, struct fallback *sought, enum fallback_end how) {
    struct peer *peer = peer_find(shard, sought->source);
    settle(shard, sought, how);
    if (peer)
        go_on_behind(shard, peer, false);
}

void fallback_route_take(struct shard *shard, struct mail *mail) {
    struct fallback *sought = fallback_find(shard, mail->connection);
    enum fallback_end how = (enum fallback_end)mail->detail;
    assert(mail->kind == MAIL_SOUGHT && !shard->run.count);
    quota_give(&shard->quota, mail);
    if (sought)
        end(shard, sought, how);
    else if (how == FALLBACK_NOBODY)
        drop_one(shard, COUNT_DROP_NO_ROUTE, 0, 0);
}

void fallback_route_expired(struct shard *shard, struct timer *timer) {
    assert(!timer_armed(timer));
    end(shard, list_entry(timer, struct fallback, timer), FALLBACK_UNKNOWN);
}

void fallback_route_hurry(struct shard *shard, struct peer *peer) {
    if (peer->stalled)
        go_on_behind(shard, peer, true);
}

void fallback_route_settled(struct shard *shard) {
    for (struct mail *mail; (mail = shard->sought.settled);) {
        shard->sought.settled = mail->next;
        if (!shard->sought.settled)
            shard->sought.settled_last = NULL;
        fallback_route_take(shard, mail);
    }
}
