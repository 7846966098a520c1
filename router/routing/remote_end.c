#include "router/routing/remote_end.h"

#include <assert.h>
#include <string.h>

#include "router/audit/audit.h"
#include "router/engine/message/error_target.h"
#include "router/engine/message/message_copy.h"
#include "router/engine/request/completion.h"
#include "router/engine/request/refuse.h"
#include "router/engine/shard/feature_call.h"
#include "router/engine/shard/identity.h"
#include "router/engine/shard/post.h"
#include "router/events/events.h"
#include "router/rights/authn.h"
#include "router/routing/route.h"

enum { HELD_MORE_MS = 5000 }; // beside the gate's wait and the request's own time

// --- Once more

// Sets the time of the copy: in all the request waits as long as it would have waited here.
static void set_remaining_time(const struct shard *shard, const struct pending *pending,
                               struct message_copy *copy) {
    uint64_t now_ms = shard_now_ms(shard), due_ms = pending->idle ? pending->limit_ms : pending->timer.due_ms;
    assert(timer_armed(&pending->timer));
    if (pending->idle) {
        copy->unit.directives.has_idle = true;
        copy->unit.directives.idle_ms = pending->timeout_ms;
    }
    copy->unit.directives.has_timeout = true;
    copy->unit.directives.timeout_ms = due_ms > now_ms ? (uint32_t)(due_ms - now_ms) : 1;
}

// Judges the request anew, by the credential with which it first came.
static void route_unless_gone(struct shard *shard, struct message *message, const struct message_copy *copy) {
    if (!peer_credential_is_gone(shard, message->peer, copy->user, copy->kind, &copy->digest)) {
        route_retry(shard, message);
        return;
    }
    route_query_read_method(message);
    refuse_right(shard, message, RULE_CREDENTIAL);
}

// Routes the copy in its sender's name: a peer of HTTP may speak for somebody else by now.
static void route_copy(struct shard *shard, struct message *message, struct message_copy *copy) {
    struct deferred_identity previous;
    struct deferred_sender sender = {.user = copy->user, .kind = copy->kind, .digest = &copy->digest};
    assert(message->retry && message->frame == &copy->frame);
    deferred_identity_begin(shard, message->peer, &sender, &copy->frame, &previous);
    route_unless_gone(shard, message, copy);
    deferred_identity_end(message->peer, &previous);
}

// Finds which hubs are asked next, and by which rule. Returns false if all have been asked.
static bool find_next(const struct shard *shard, const struct message_copy *copy,
                      struct remote_retry *retry) {
    const struct hub_settings *settings = shard->settings;
    bool has_former = settings->previous.bytes && shard_now_ms(shard) < settings->previous_until_ms;
    retry->first_over = copy->first_over;
    retry->is_former = has_former && !copy->is_former;
    if (retry->is_former)
        return true;
    retry->first_over = copy->first_over || copy->is_first;
    return copy->is_first;
}

// Routes the request once more as it came. No other hub knows the request's new hub id.
static void route_again(struct shard *shard, struct peer *peer, struct pending *pending,
                        struct remote_retry *retry) {
    struct message_copy *copy = pending->copy;
    struct mail *outcome = pending->outcome;
    struct account *account = pending->account;
    struct message message;
    uint32_t id_bytes = pending->id_bytes;
    message_begin(&message, peer, pending->exchange);
    message.frame = &copy->frame;
    message.body = frame_body(&copy->frame);
    message.approved = copy->approved;
    message.audit = copy->audit;
    message.retry = retry;
    message_defer(&message, copy->attachment);
    retry->original = copy->original;
    retry->outcome = outcome ? &outcome : NULL;
    retry->place = &account;
    retry->hub_id = pending_hub_id(&shard->pending, pending);
    set_remaining_time(shard, pending, copy);
    pending->outcome = NULL;
    pending->account = NULL;
    pending->copy = NULL;
    struct observation *observation = pending->observation;
    retry->observation = observation ? &observation : NULL;
    pending->observation = NULL;
    completion_withdraw(shard, pending);
    lookup_body(&message.lookup, message.body, message.frame->body.bytes, id_bytes);
    assert(message.lookup.verdict == LOOKUP_GOOD && message_is_request(&message));
    route_copy(shard, &message, copy);
    assert(!observation); // the request has taken the observation, or ended it
    audit_source_gone(shard, &outcome);
    if (account)
        account_lease_end_pending(&shard->account_leases, account);
    message_copy_drop(shard, copy);
}

// --- Nobody is there

// Returns the member here that comes nearest to the required level, which none supports.
static const struct agent *nearest_here(struct shard *shard, const struct pending *pending) {
    static const enum group_kind kinds[] = {[SUBJECT_CAPABILITY] = GROUP_CAPABILITY,
                                            [SUBJECT_TOOL] = GROUP_TOOL,
                                            [SUBJECT_METHOD] = GROUP_METHOD};
    struct wanted_member filter = {.level = (enum governance)pending->level};
    char name[METHOD_BYTES_MAX];
    enum subject_kind kind = error_target_kind(pending);
    size_t bytes = error_target_name(pending, name);
    if (!pending->less || kind < SUBJECT_CAPABILITY || kind > SUBJECT_METHOD || bytes == SIZE_MAX)
        return NULL;
    const struct agent *agent =
        groups_choose(&shard->agents.groups, kinds[kind], name, bytes, &filter, hub_pending, shard->hub);
    return agent && agent->governance < pending->level ? agent : NULL;
}

static enum error error_of(enum subject_kind kind) {
    assert(kind <= SUBJECT_COMMAND);
    return kind == SUBJECT_TOOL                                ? ERROR_TOOL
           : kind == SUBJECT_METHOD || kind == SUBJECT_COMMAND ? ERROR_METHOD_NOT_FOUND
                                                               : ERROR_AGENT_NOT_FOUND;
}

static void end_nobody(struct shard *shard, struct pending *pending) {
    uint32_t unserved_hubs = atomic_load_explicit(&shard->hub->hubs_unserved, memory_order_relaxed);
    const struct agent *nearest = nearest_here(shard, pending);
    struct text data;
    text_init(&data);
    if (nearest) {
        reply_data_string(&data, "agent", nearest->id, nearest->id_bytes);
        reply_data_text(&data, "required", governance_text((enum governance)pending->level));
        reply_data_text(&data, "supported", governance_text(nearest->governance));
        completion_error(shard, pending, ERROR_GOVERNANCE_VIOLATION, &data);
        return;
    }
    if (error_target_kind(pending) == SUBJECT_COMMAND)
        reply_data_text(&data, "method", "command/execute");
    else
        error_target_put_saved(&data, pending);
    if (unserved_hubs)
        reply_data_number(&data, "unserved", unserved_hubs);
    completion_error(shard, pending, error_of(error_target_kind(pending)), &data);
}

// Answers a decision for a hub that is gone: the decision was not applied.
static void end_decision(struct shard *shard, struct pending *pending) {
    char name[METHOD_BYTES_MAX];
    size_t bytes = error_target_name(pending, name);
    struct text result;
    assert(bytes != SIZE_MAX);
    text_init(&result);
    text_put(&result, "{\"checkpoint\":");
    text_string(&result, name, bytes);
    text_put(&result, ",\"applied\":false}");
    completion_result(shard, pending, &result);
}

static void end_unanswered(struct shard *shard, struct peer *peer, struct pending *pending) {
    struct remote_retry retry = {0};
    if (pending->cancelled)
        completion_cancelled(shard, pending);
    else if (error_target_kind(pending) == SUBJECT_DECIDE)
        end_decision(shard, pending);
    else if (pending->copy && find_next(shard, pending->copy, &retry))
        route_again(shard, peer, pending, &retry);
    else
        end_nobody(shard, pending);
}

// --- Other ends

static void end_lost(struct shard *shard, struct pending *pending, const char *reason) {
    struct text data;
    text_init(&data);
    error_target_put_saved(&data, pending);
    if (reason)
        reply_data_text(&data, "reason", reason);
    stats_count(&shard->stats, COUNT_TARGETS_LEFT);
    completion_error(shard, pending, ERROR_TARGET_DISCONNECTED, &data);
}

static void end_unusable(struct shard *shard, struct pending *pending, const struct remote_end *end) {
    const struct limits *limits = shard_limits(shard);
    bool is_large = end->mail.detail == REMOTE_TOO_LARGE;
    struct text data;
    text_init(&data);
    error_target_put_saved(&data, pending);
    reply_data_text(&data, "fault",
                    is_large ? "the answer is over this hub's limit" : "the answer could not be read");
    if (is_large)
        reply_data_number(&data, "limit", end->bytes ? limits->frame_bytes_max : limits->header_bytes_max);
    if (is_large && end->bytes > limits->frame_bytes_max)
        reply_data_number(&data, "bytes", (int64_t)end->bytes);
    completion_error(shard, pending, is_large ? ERROR_FRAME_TOO_LARGE : ERROR_INTERNAL, &data);
}

// Gives a held request the other hub's wait, its own time, and some more.
static void hold(struct shard *shard, struct pending *pending, struct remote_end *end) {
    assert(pending->timeout_ms > 0);
    uint64_t wait_ms = end->wait_ms + pending->timeout_ms + HELD_MORE_MS;
    if (timer_armed(&pending->timer))
        wheel_arm(&shard->wheel, &pending->timer, shard_now_ms(shard) + wait_ms);
    if (pending->idle)
        pending->limit_ms += wait_ms;
    quota_give(&shard->quota, pending->remote_end);
    pending_mark_rare(pending);
    pending->remote_end = end;
}

// A request whose source is about to end ends with that source.
void remote_end_arrived(struct shard *shard, struct mail *mail) {
    struct remote_end *end = list_entry(mail, struct remote_end, mail);
    struct pending *pending = pending_find(&shard->pending, end->hub_id);
    struct peer *peer =
        pending && pending->target == mail->connection ? peer_find(shard, pending->source) : NULL;
    assert(hub_id_shard(end->hub_id) == shard->index);
    events_flush(shard);
    if (peer && mail->detail == REMOTE_HELD) {
        hold(shard, pending, end);
        return;
    }
    if (peer && mail->detail == REMOTE_UNANSWERED)
        end_unanswered(shard, peer, pending);
    else if (peer && (mail->detail == REMOTE_NOT_TAKEN || mail->detail == REMOTE_LOST))
        end_lost(shard, pending, mail->detail == REMOTE_NOT_TAKEN ? "not taken" : NULL);
    else if (peer)
        end_unusable(shard, pending, end);
    quota_give(&shard->quota, end);
}
