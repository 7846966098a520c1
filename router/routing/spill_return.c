#include "router/routing/spill_return.h"

#include <assert.h>

#include "router/audit/audit.h"
#include "router/engine/request/completion.h"
#include "router/engine/request/refuse.h"
#include "router/events/events.h"
#include "router/forwarding/forward.h"
#include "router/rights/peer_credential.h"
#include "router/routing/deferred_identity.h"
#include "router/routing/route.h"
#include "router/routing/route_query.h"

// It waits as long as it would have waited here, in all.
static void leave_time(const struct shard *shard, const struct pending *pending,
                       struct message_copy *offered) {
    uint64_t now_ms = shard_now_ms(shard), due_ms = pending->timer.due_ms;
    assert(timer_armed(&pending->timer));
    offered->unit.directives.timeout_given = true;
    offered->unit.directives.timeout_ms = due_ms > now_ms ? (uint32_t)(due_ms - now_ms) : 1;
}

// It was judged when it came, in the depth that held then.
static void look_up(struct message *message, uint32_t id_bytes) {
    lookup_body(&message->lookup, message->body, message->frame->body.bytes, id_bytes);
    assert(message->lookup.verdict == LOOKUP_GOOD && message_is_request(message));
}

// To where its connection was attached to then; but for what attaches it.
static void route_where_attached(struct shard *shard, struct message *message, struct message_copy *offered) {
    bool attaches = json_string_is(message->body, message->lookup.value[KEY_METHOD], "hub/attach");
    struct annex *annex = attaches ? NULL : message->peer->annex;
    struct attachment *attached = annex ? annex->attachment : NULL;
    if (annex)
        annex->attachment = offered->attachment;
    route_returned(shard, message);
    if (annex)
        annex->attachment = attached;
}

// As it did when it sent this: of HTTP it may speak for somebody else by now.
static void speak(const struct shard *shard, struct peer *peer, struct message_copy *offered,
                  struct deferred_identity *before) {
    struct speaker speaker = {offered->user, offered->kind, &offered->digest};
    deferred_identity_begin(shard, peer, &speaker, &offered->frame, before);
}

// It is judged anew, as all that comes, by the credential that it came with first.
static void route_unless_gone(struct shard *shard, struct message *message, struct message_copy *offered) {
    if (!peer_credential_is_gone(shard, message->peer, offered->user, offered->kind, &offered->digest)) {
        route_where_attached(shard, message, offered);
        return;
    }
    route_query_read_method(message);
    refuse_right(shard, message, RULE_CREDENTIAL);
}

void spill_return_route(struct shard *shard, struct message *message, struct message_copy *offered) {
    struct deferred_identity before;
    assert(message->returned && message->frame == &offered->frame);
    speak(shard, message->peer, offered, &before);
    route_unless_gone(shard, message, offered);
    deferred_identity_end(message->peer, &before);
}

// What it goes on with is what it came with; that its hub id is another one is nobody's affair.
static void go_on(struct shard *shard, struct peer *peer, struct pending *pending,
                  const struct spill_reason *returned) {
    struct message_copy *offered = pending->offered;
    struct mail *outcome = pending->outcome;
    struct account *place = pending->account;
    struct spill_reason why = *returned;
    struct message message;
    uint32_t id_bytes = pending->id_bytes;
    message_begin(&message, peer, pending->exchange);
    message.frame = &offered->frame;
    message.body = frame_body(&offered->frame);
    message.approved = offered->approved;
    message.audit = offered->audit;
    why.offered = offered->offered;
    why.sought = offered->sought || (offered->probed && offered->first && returned->nobody);
    why.probed = offered->probed;
    why.first = offered->first;
    why.given = offered->given;
    why.outcome = outcome ? &outcome : NULL;
    why.place = &place;
    why.hub_id = pending_hub_id(&shard->pending, pending);
    message.returned = &why;
    pending->outcome = NULL;
    pending->account = NULL;
    leave_time(shard, pending, offered);
    pending->offered = NULL;
    completion_withdraw(shard, pending);
    look_up(&message, id_bytes);
    spill_return_route(shard, &message, offered);
    audit_left(shard, &outcome);
    if (place)
        account_lease_answer(&shard->account_leases, place);
    message_copy_drop(shard, offered);
}

// The request, unless it has ended: also one whose source is among the endings will end with that.
static struct pending *find(struct shard *shard, uint64_t hub_id, uint64_t from) {
    struct pending *pending = pending_find(&shard->pending, hub_id);
    assert(hub_id_shard(hub_id) == shard->index);
    return pending && pending->target == from && peer_find(shard, pending->source) ? pending : NULL;
}

void spill_return_take(struct shard *shard, uint64_t hub_id, uint64_t from,
                       const struct spill_reason *returned) {
    struct pending *pending = find(shard, hub_id, from);
    events_flush(shard);
    if (pending && pending->cancelled)
        completion_cancelled(shard, pending);
    else if (pending && pending->offered)
        go_on(shard, peer_find(shard, pending->source), pending, returned);
    else if (pending)
        completion_broken(shard, hub_id, from);
}

// As it would have been sent when it first was.
static bool send_again(struct shard *shard, struct peer *peer, struct pending *pending,
                       const struct remote_target *to) {
    struct message_copy *offered = pending->offered;
    struct message message;
    message_begin(&message, peer, pending->exchange);
    message.frame = &offered->frame;
    message.body = frame_body(&offered->frame);
    message.approved = offered->approved;
    leave_time(shard, pending, offered);
    look_up(&message, pending->id_bytes);
    struct deferred_identity before;
    speak(shard, peer, offered, &before);
    bool is_sent = forward_again(shard, &message, pending, to);
    deferred_identity_end(peer, &before);
    return is_sent;
}

bool spill_return_again(struct shard *shard, uint64_t hub_id, uint64_t from, const struct remote_target *to) {
    struct pending *pending = find(shard, hub_id, from);
    events_flush(shard);
    if (!pending)
        return false;
    if (pending->cancelled) {
        completion_cancelled(shard, pending);
        return false;
    }
    if (pending->offered && send_again(shard, peer_find(shard, pending->source), pending, to))
        return true;
    completion_refused(shard, hub_id, ERROR_OVERLOADED);
    return false;
}

void spill_return_forget(struct shard *shard, uint64_t hub_id, uint64_t from) {
    struct pending *pending = find(shard, hub_id, from);
    if (!pending || !pending->offered)
        return;
    message_copy_drop(shard, pending->offered);
    pending->offered = NULL;
}
