#include "router/features/gate/gate_hold.h"

#include <assert.h>
#include <string.h>

#include "core/rights/users.h"
#include "core/send/parcel.h"
#include "router/engine/message/message_copy.h"
#include "router/engine/request/refuse.h"
#include "router/engine/send/exchange.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/feature.h"
#include "router/engine/shard/feature_call.h"
#include "router/engine/shard/identity.h"
#include "router/engine/shard/peer_cold.h"
#include "router/engine/shard/shard.h"
#include "router/features/feature_list.h"
#include "router/features/gate/gate_json.h"
#include "router/rights/authn.h"
#include "router/rights/authz.h"
#include "router/routing/route.h"

// --- Quota

// Bounds of held messages. The hub may hold a number of messages, and a quarter of the memory. One user may have a
// quarter of both; without a users file one connection may. A large body stays in the buffer in which it came. A small
// body is copied, so that no receive buffer is kept for it.

// Returns the part of a bound that one user, or without a users file one connection, may have.
static uint64_t share_of(uint64_t all) {
    assert(all > 0);
    return all / 4 ? all / 4 : 1;
}

// --- Shares of users

static void uncount_share(const struct user *user, uint32_t bytes) {
    if (!user)
        return;
    account_uncount_held_bytes(user->account, bytes);
    account_uncount_held(user->account);
}

// Counts a message for its user or connection. Returns 0, or the bound that would be exceeded.
static uint64_t count_share(const struct gate_source *source, const struct user *user, uint32_t bytes,
                            uint32_t share_max, uint64_t share_bytes_max) {
    assert(share_max > 0 && share_bytes_max > 0);
    if (!user)
        return source->count >= share_max                ? share_max
               : source->bytes + bytes > share_bytes_max ? share_bytes_max
                                                         : 0;
    if (!account_count_held(user->account, share_max))
        return share_max;
    if (account_count_held_bytes(user->account, bytes, share_bytes_max))
        return 0;
    account_uncount_held(user->account);
    return share_bytes_max;
}

// --- The whole hub

static void gate_quota_uncount(struct shard *shard, const struct user *user, uint32_t bytes) {
    assert(atomic_load_explicit(&gate_hub_of(shard->hub)->held, memory_order_relaxed) > 0);
    atomic_fetch_sub_explicit(&gate_hub_of(shard->hub)->held, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&gate_hub_of(shard->hub)->held_bytes, bytes, memory_order_relaxed);
    uncount_share(user, bytes);
}

// Counts a message for its peer or user, and for the hub. Returns 0, or the bound that would be exceeded: then nothing
// was counted.
static uint64_t gate_quota_count(struct shard *shard, const struct gate_source *source,
                                 const struct user *user, uint32_t bytes) {
    struct gate_hub *hub = gate_hub_of(shard->hub);
    uint32_t max = (uint32_t)gate_option(shard, GATE_OPTION_HELD_MAX);
    uint64_t bytes_max = shard_limits(shard)->memory_bytes_max / 4;
    assert(max > 0 && bytes > 0);
    uint64_t over = count_share(source, user, bytes, (uint32_t)share_of(max), share_of(bytes_max));
    if (over)
        return over;
    uint32_t previous = atomic_fetch_add_explicit(&hub->held, 1, memory_order_relaxed);
    uint64_t previous_bytes = atomic_fetch_add_explicit(&hub->held_bytes, bytes, memory_order_relaxed);
    over = previous >= max ? max : previous_bytes + bytes > bytes_max ? bytes_max : 0;
    if (over)
        gate_quota_uncount(shard, user, bytes);
    return over;
}

// Returns how many bytes a held frame takes.
static uint32_t gate_quota_bytes(const struct frame *frame) {
    return frame_copy_bytes(frame) + (uint32_t)sizeof(struct held_message);
}

// Keeps the frame of a held message. Returns false without memory.
static bool gate_quota_keep(struct shard *shard, struct held_message *held, const struct frame *frame) {
    assert(!held->frame.buffer);
    return frame_copy(&shard->buffers, frame, &held->unit, &held->frame);
}

const char *decision_text(enum decision decision) {
    static const char *const texts[DECISIONS_COUNT] = {"approved", "rejected", "needs_revision"};
    assert(decision < DECISIONS_COUNT);
    return texts[decision];
}

// Returns the source's peer, also while the peer is ending.
static struct peer *source_of(const struct shard *shard, const struct held_message *held) {
    struct peer *peer = shard->peers.slots[connection_slot(held->source)];
    assert(peer && peer->connection_id == held->source && gate_source_of(peer));
    return peer;
}

static uint64_t wait_ms(const struct shard *shard) {
    return gate_option(shard, GATE_OPTION_WAIT_NS) / 1000000;
}

// --- Begin

static struct span string_at(const struct message *message, enum lookup_key key) {
    bool is_there = lookup_has(&message->lookup, key) && message->lookup.type[key] == JSON_STRING;
    return is_there ? message->lookup.value[key] : (struct span){0};
}

static void name(struct shard *shard, struct held_message *held) {
    uint64_t parts[2] = {shard->index, gate_of(shard)->made++};
    siphash_name(&shard->hub->start_settings.secrets.checkpoints, parts, sizeof parts, held->checkpoint.bits);
}

// Saves the credential, since over HTTP each request has its own.
static void save_credential(struct held_message *held, const struct message *message) {
    const struct identity *identity = identity_of(message->peer);
    if (!held->user)
        return;
    held->digest = identity->digest;
    held->credential = (uint8_t)identity->kind;
}

static void describe(struct shard *shard, struct held_message *held, const struct message *message) {
    assert(!held->is_released && message->method_bytes <= METHOD_BYTES_MAX);
    held->source = message->peer->connection_id;
    held->user = authz_approver(message->peer).user;
    save_credential(held, message);
    held->is_request = message_is_request(message);
    held->exchange = held->is_request ? message->exchange : NULL;
    held->id = held->is_request ? message->lookup.value[KEY_ID] : (struct span){0};
    held->method = string_at(message, KEY_METHOD);
    held->target = string_at(message, KEY_TARGET_AGENT);
    held->source_agent = string_at(message, KEY_SOURCE_AGENT);
    held->governance = message->frame->unit->directives.governance;
    held->audit = (uint8_t)message->audit;
    held->hold.since_ms = shard_now_ms(shard);
    held->until_ms = io_wall_ms(shard->io) + wait_ms(shard);
    held->bytes = gate_quota_bytes(message->frame);
}

// Saves the attachment of the connection: the message goes to this agent after approval, even if the attachment has
// changed.
static bool save_attachment(struct shard *shard, struct held_message *held, const struct message *message) {
    const struct attachment *attachment = message_attachment(message);
    size_t bytes = attachment ? sizeof *attachment + attachment->bytes : 0;
    assert(!held->attachment);
    if (!attachment)
        return true;
    held->attachment = quota_take(&shard->quota, bytes);
    if (held->attachment)
        memcpy(held->attachment, attachment, bytes);
    return held->attachment != NULL;
}

static bool save_origin(struct shard *shard, struct held_message *held, const struct message *message) {
    assert(!held->origin);
    if (!message->origin)
        return true;
    held->origin = quota_take(&shard->quota, sizeof *held->origin);
    if (!held->origin)
        return false;
    *held->origin = *message->origin;
    held->origin->target = held->attachment;
    return true;
}

static struct held_message *make(struct shard *shard, const struct message *message) {
    struct held_message *held = quota_take_zeroed(&shard->quota, 1, sizeof *held);
    if (!held)
        return NULL;
    if (!save_attachment(shard, held, message) || !save_origin(shard, held, message) ||
        !gate_quota_keep(shard, held, message->frame)) {
        quota_give(&shard->quota, held->attachment);
        quota_give(&shard->quota, held->origin);
        quota_give(&shard->quota, held);
        return NULL;
    }
    describe(shard, held, message);
    name(shard, held);
    timer_init(&held->timer, FEATURE_KIND(FEATURE_GATE, GATE_TIMER_HELD));
    list_init(&held->by_age);
    list_init(&held->by_source);
    list_init(&held->by_checkpoint);
    return held;
}

static void destroy(struct shard *shard, struct held_message *held) {
    assert(list_empty(&held->by_age) && list_empty(&held->by_source) && !timer_armed(&held->timer));
    assert(!held->hold.observation);
    gate_quota_uncount(shard, held->user, held->bytes);
    buffer_drop(held->frame.buffer);
    quota_give(&shard->quota, held->attachment);
    quota_give(&shard->quota, held->origin);
    digest_wipe(&held->digest, sizeof held->digest);
    quota_give(&shard->quota, held);
}

// --- Admission

static void refuse_over(struct shard *shard, const struct message *message, uint64_t limit) {
    struct text data;
    text_init(&data);
    reply_data_text(&data, "fault", limit ? "too much waits for approval" : "there is no memory to hold it");
    if (limit)
        reply_data_number(&data, "limit", (int64_t)limit);
    stats_count(&shard->stats, COUNT_APPROVALS_REFUSED);
    refuse(shard, message, ERROR_OVERLOADED, &data);
}

// Counts and makes a held message. Returns NULL if the message was refused.
static struct held_message *admission_submit(struct shard *shard, const struct message *message) {
    uint32_t bytes = gate_quota_bytes(message->frame);
    const struct user *user = authz_approver(message->peer).user;
    const struct gate_source *source = gate_source_take(shard, message->peer);
    uint64_t over = source ? gate_quota_count(shard, source, user, bytes) : 0;
    struct held_message *held = source && !over ? make(shard, message) : NULL;
    if (held)
        return held;
    if (source && !over)
        gate_quota_uncount(shard, user, bytes);
    refuse_over(shard, message, over);
    return NULL;
}

// Counts a held message as pending for its user. At the user's bound refuses the message and returns false.
static bool ask(struct shard *shard, const struct message *message, struct held_message *held) {
    const struct user *user = held->user;
    assert(!held->is_asked);
    if (!user || message->origin) // the source's hub counts a message from another hub
        return true;
    held->is_asked =
        message_copy_take_place(message, user->account) ||
        account_lease_begin_pending(&shard->account_leases, user->account, &users_rights(user)->limits);
    if (!held->is_asked)
        refuse_limit(shard, message, LIMIT_PENDING, 0);
    return held->is_asked;
}

void gate_hold_answer(struct held_message *held) {
    if (held->is_asked)
        account_end_pending(held->user->account);
    held->is_asked = false;
}

static void enter(struct shard *shard, struct held_message *held, struct peer *peer) {
    struct gate_source *source = gate_source_of(peer);
    assert(peer->connection_id == held->source && source && !timer_armed(&held->timer));
    gate_add(gate_of(shard), held);
    list_append(&source->held, &held->by_source);
    source->count++;
    source->bytes += held->bytes;
    peer->awaited += held->is_request;
    wheel_arm(&shard->wheel, &held->timer, held->hold.since_ms + wait_ms(shard));
    stats_count(&shard->stats, FEATURE_COUNTER(FEATURE_GATE, GATE_COUNT_HELD));
    stats_move_gauge(&shard->stats, FEATURE_GAUGE(FEATURE_GATE, GATE_GAUGE_HELD), 1);
    stats_move_gauge(&shard->stats, FEATURE_GAUGE(FEATURE_GATE, GATE_GAUGE_BYTES), held->bytes);
}

// Tells the source's hub, which stops the request's time-out while the request is held.
static void notify_source(struct shard *shard, const struct held_message *held,
                          const struct message *message) {
    char checkpoint[GATE_CHECKPOINT_BYTES_MAX];
    if (message->origin && held->exchange)
        feature_message_held(shard, message, checkpoint,
                             gate_json_write_checkpoint(shard, &held->checkpoint, checkpoint));
}

struct held_message *gate_hold_begin(struct shard *shard, const struct message *message) {
    assert(gate_of(shard) && !message->approved);
    if (shard->phase != HUB_SERVING) {
        refuse_for(shard, message, ERROR_TARGET_DISCONNECTED, refuse_hub_ends);
        return NULL;
    }
    struct held_message *held = admission_submit(shard, message);
    if (!held)
        return NULL;
    if (!ask(shard, message, held)) {
        destroy(shard, held);
        return NULL;
    }
    if (!gate_audit_held(shard, held)) {
        gate_hold_answer(held);
        destroy(shard, held);
        stats_count(&shard->stats, COUNT_JOURNAL_REFUSED);
        refuse(shard, message, ERROR_AUDIT, NULL);
        return NULL;
    }
    enter(shard, held, message->peer);
    notify_source(shard, held, message);
    return held;
}

struct held_message *gate_hold_find(const struct peer *peer, const uint8_t *text, struct span id) {
    const struct gate_source *source = gate_source_of(peer);
    return source ? gate_find_sent(&source->held, text, id) : NULL;
}

// --- End

// Returns whether a half-closed source must stay for the message: it is a request, or was approved and must not be
// lost.
static bool is_awaited(const struct held_message *held) {
    return held->is_request || held->is_released;
}

void gate_hold_end(struct shard *shard, struct held_message *held) {
    struct peer *peer = source_of(shard, held);
    struct gate_source *source = gate_source_of(peer);
    assert(source->count > 0 && (!is_awaited(held) || peer->awaited > 0));
    gate_hold_answer(held);
    list_remove(&held->by_age);
    list_remove(&held->by_source);
    list_remove(&held->by_checkpoint);
    wheel_disarm(&held->timer);
    source->count--;
    source->bytes -= held->bytes;
    peer->awaited -= is_awaited(held);
    stats_move_gauge(&shard->stats, FEATURE_GAUGE(FEATURE_GATE, GATE_GAUGE_HELD), -1);
    stats_move_gauge(&shard->stats, FEATURE_GAUGE(FEATURE_GATE, GATE_GAUGE_BYTES), -(int64_t)held->bytes);
    destroy(shard, held);
    peer_settle(shard, peer);
}

// Looks up the body again. Its validity was checked when it came, with the validation that applied then.
static void look_up(struct message *message, const struct held_message *held) {
    uint32_t id_bytes_max = held->is_request ? held->id.bytes : 0;
    lookup_body(&message->lookup, message->body, message->frame->body.bytes, id_bytes_max);
    assert(message->lookup.verdict == LOOKUP_GOOD);
    assert(message_is_request(message) == held->is_request);
}

void gate_hold_message(struct held_message *held, struct peer *peer, struct unit *unit, struct frame *frame,
                       struct message *message) {
    *unit = held->unit;
    *frame = held->frame;
    unit->directives.governance = GOVERNANCE_AUTONOMOUS;
    frame->unit = unit;
    message_begin(message, peer, held->exchange);
    message->frame = frame;
    message->body = frame_body(frame);
    message->audit = (enum message_audit)held->audit;
    message->approved = held->is_for_one ? MESSAGE_APPROVED_FOR_ONE : MESSAGE_APPROVED;
    message->hold = &held->hold;
    message->origin = held->origin;
    message_defer(message, held->attachment);
    look_up(message, held);
}

// Tells features that watch messages that a held message ends. ERROR_NONE: its source has left.
static void show_end(struct shard *shard, struct held_message *held, enum error error) {
    struct peer *peer = source_of(shard, held);
    struct unit unit;
    struct frame frame;
    struct message message;
    if (!shard->features->message_refused[0] || (error == ERROR_NONE && !held->is_request))
        return;
    struct deferred_sender sender = {.user = held->user,
                                     .kind = (enum credential_kind)held->credential,
                                     .digest = &held->digest,
                                     .is_named_anyway = true};
    struct deferred_identity previous;
    gate_hold_message(held, peer, &unit, &frame, &message);
    route_query_read_method(&message);
    deferred_identity_begin(shard, peer, &sender, &frame, &previous);
    feature_message_refused(shard, &message, error);
    deferred_identity_end(peer, &previous);
}

// Ends a held message without an answer.
static void end_silently(struct shard *shard, struct held_message *held) {
    struct exchange *exchange = held->exchange;
    assert(held->is_request || !exchange);
    show_end(shard, held, ERROR_NONE);
    gate_hold_end(shard, held);
    if (exchange)
        exchange_miss(shard, exchange);
}

static void give_up(struct shard *shard, struct held_message *held) {
    if (!held->is_released)
        stats_count(&shard->stats, FEATURE_COUNTER(FEATURE_GATE, GATE_COUNT_SOURCE_LEFT));
    gate_audit_step(shard, held, "source left", NULL, ERROR_NONE);
    end_silently(shard, held);
}

// Ends a held message with this error. Takes `data`.
static void end_with_error(struct shard *shard, struct held_message *held, enum error error,
                           struct text *data) {
    assert(error > ERROR_NONE && error < ERRORS_COUNT);
    struct reply_to to = {frame_body(&held->frame) + held->id.at, held->id.bytes, held->exchange};
    show_end(shard, held, error);
    if (held->is_request) {
        reply_error(shard, source_of(shard, held), to, error, data);
    } else {
        refuse_unreported(shard, held->source, error, held->frame.body.bytes);
        text_deinit(data);
    }
    gate_hold_end(shard, held);
}

// Returns whether the source's peer is ending: then its end also ends the held message.
static bool is_leaving(const struct shard *shard, const struct held_message *held) {
    return !peer_find(shard, held->source);
}

static void put_checkpoint(const struct shard *shard, struct text *data, const struct held_message *held) {
    char checkpoint[GATE_CHECKPOINT_BYTES_MAX];
    size_t bytes = gate_json_write_checkpoint(shard, &held->checkpoint, checkpoint);
    text_init(data);
    reply_data_string(data, "checkpoint", checkpoint, bytes);
}

struct held_message *gate_hold_find_exchange(const struct peer *peer, const struct exchange *exchange) {
    const struct gate_source *source = gate_source_of(peer);
    const struct list *all = source ? &source->held : NULL;
    for (const struct list *node = all ? all->next : NULL; node && node != all; node = node->next) {
        struct held_message *held = list_entry(node, struct held_message, by_source);
        if (held->exchange == exchange)
            return held;
    }
    return NULL;
}

void gate_hold_abandon(struct shard *shard, struct held_message *held) {
    give_up(shard, held);
}

void gate_hold_target_removed(struct shard *shard, struct held_message *held, const char *target,
                              size_t bytes) {
    struct text data;
    assert(held->is_request && !is_leaving(shard, held));
    put_checkpoint(shard, &data, held);
    reply_data_string(&data, "agent", target, bytes);
    if (!held->is_released)
        stats_count(&shard->stats, FEATURE_COUNTER(FEATURE_GATE, GATE_COUNT_TARGET_REMOVED));
    gate_audit_step(shard, held, "target removed", NULL, ERROR_AGENT_NOT_FOUND);
    end_with_error(shard, held, ERROR_AGENT_NOT_FOUND, &data);
}

static void note_cancelled(struct shard *shard, struct held_message *held) {
    if (!held->is_released)
        stats_count(&shard->stats, FEATURE_COUNTER(FEATURE_GATE, GATE_COUNT_CANCELLED));
    gate_audit_step(shard, held, "cancelled", NULL, ERROR_CANCELLED);
}

void gate_hold_cancel_answered(struct shard *shard, struct held_message *held) {
    struct text data;
    note_cancelled(shard, held);
    put_checkpoint(shard, &data, held);
    end_with_error(shard, held, ERROR_CANCELLED, &data);
}

void gate_hold_cancel(struct shard *shard, struct held_message *held) {
    if (!source_of(shard, held)->cold->cancel_ends) {
        gate_hold_cancel_answered(shard, held);
        return;
    }
    note_cancelled(shard, held);
    end_silently(shard, held);
}

void gate_hold_timed_out(struct shard *shard, struct held_message *held) {
    assert(!timer_armed(&held->timer) && !held->is_released);
    if (is_leaving(shard, held))
        return;
    struct text data;
    put_checkpoint(shard, &data, held);
    reply_data_text(&data, "fault", "nobody has decided in time");
    stats_count(&shard->stats, FEATURE_COUNTER(FEATURE_GATE, GATE_COUNT_TIMED_OUT));
    gate_audit_step(shard, held, "timed out", NULL, ERROR_APPROVAL_REQUIRED);
    end_with_error(shard, held, ERROR_APPROVAL_REQUIRED, &data);
}

static void reject(struct shard *shard, struct held_message *held, enum decision decision,
                   const struct ruling *ruling) {
    bool rejected = decision == DECISION_REJECTED;
    assert(rejected || decision == DECISION_NEEDS_REVISION);
    enum error error = rejected ? ERROR_GOVERNANCE_VIOLATION : ERROR_APPROVAL_REQUIRED;
    struct text data;
    put_checkpoint(shard, &data, held);
    reply_data_string(&data, "approver", ruling->approver, ruling->approver_bytes);
    if (ruling->feedback)
        reply_data_string(&data, "feedback", ruling->feedback, ruling->feedback_bytes);
    else
        text_put(&data, ",\"feedback\":null");
    stats_count(&shard->stats,
                FEATURE_COUNTER(FEATURE_GATE, rejected ? GATE_COUNT_REJECTED : GATE_COUNT_REVISED));
    gate_audit_step(shard, held, decision_text(decision), ruling, error);
    end_with_error(shard, held, error, &data);
}

void gate_hold_decide(struct shard *shard, struct held_message *held, enum decision decision,
                      const struct ruling *ruling) {
    assert(!held->is_released);
    if (decision != DECISION_APPROVED) {
        reject(shard, held, decision, ruling);
        return;
    }
    stats_count(&shard->stats, FEATURE_COUNTER(FEATURE_GATE, GATE_COUNT_APPROVED));
    gate_audit_step(shard, held, decision_text(decision), ruling, ERROR_NONE);
    source_of(shard, held)->awaited += !held->is_request;
    held->is_released = true;
    wheel_disarm(&held->timer);
    list_remove(&held->by_checkpoint);
    list_remove(&held->by_age);
    list_append(&gate_of(shard)->released, &held->by_age);
}

// Returns whether the credential of the message is gone, while its connection stays. If the connection is closed for
// that reason, its end also ends the message.
static bool is_revoked(const struct shard *shard, const struct held_message *held) {
    const struct peer *peer = peer_find(shard, held->source);
    return peer && peer_credential_is_gone(shard, peer, held->user, (enum credential_kind)held->credential,
                                           &held->digest);
}

void gate_hold_revoke(struct shard *shard, struct held_message *held) {
    struct text data;
    assert(!is_leaving(shard, held));
    put_checkpoint(shard, &data, held);
    reply_data_text(&data, "rule", rule_text(RULE_CREDENTIAL));
    if (!held->is_released)
        stats_count(&shard->stats, FEATURE_COUNTER(FEATURE_GATE, GATE_COUNT_SOURCE_LEFT));
    gate_audit_step(shard, held, "source left", NULL, ERROR_NOT_ALLOWED);
    end_with_error(shard, held, ERROR_NOT_ALLOWED, &data);
}

void gate_hold_review(struct shard *shard) {
    struct list *all = &gate_of(shard)->held;
    assert(shard->settings->users);
    for (struct list *node = all->next, *next; node != all; node = next) {
        struct held_message *held = list_entry(node, struct held_message, by_age);
        next = node->next;
        if (is_revoked(shard, held))
            gate_hold_revoke(shard, held);
    }
}

void gate_hold_leave(struct shard *shard, struct peer *peer) {
    struct gate_source *source = gate_source_of(peer);
    struct list *all = source ? &source->held : NULL;
    assert(peer->state != PEER_OPEN);
    while (all && !list_empty(all))
        give_up(shard, list_entry(all->next, struct held_message, by_source));
}

void gate_hold_drain(struct shard *shard) {
    assert(shard->phase != HUB_SERVING);
    struct list *all = &gate_of(shard)->held;
    while (!list_empty(all)) {
        struct held_message *held = list_entry(all->next, struct held_message, by_age);
        if (is_leaving(shard, held)) {
            give_up(shard, held);
            continue;
        }
        stats_count(&shard->stats, FEATURE_COUNTER(FEATURE_GATE, GATE_COUNT_DRAINED));
        gate_audit_step(shard, held, "drained", NULL, ERROR_TARGET_DISCONNECTED);
        struct text data;
        put_checkpoint(shard, &data, held);
        reply_data_text(&data, "fault", refuse_hub_ends);
        end_with_error(shard, held, ERROR_TARGET_DISCONNECTED, &data);
    }
}
