#include "router/engine/request/completion.h"

#include <assert.h>

#include "core/base/text.h"
#include "core/send/pack.h"
#include "router/audit/audit.h"
#include "router/engine/message/error_target.h"
#include "router/engine/message/message_copy.h"
#include "router/engine/request/cancel.h"
#include "router/engine/request/refuse.h"
#include "router/engine/send/exchange.h"
#include "router/engine/send/reply.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/feature_call.h"
#include "router/engine/shard/identity.h"
#include "router/engine/shard/post.h"

// Removes a request from the table. `end` NULL: no feature is told, since the request goes on elsewhere or no feature
// asks.
static void completion_end(struct shard *shard, struct pending *pending, const struct request_end *end) {
    assert(pending->source && pending->target);
    if (end)
        feature_request_ended(shard, pending, end);
    hub_pending_add(shard->hub, pending->target, -1);
    if (pending->account)
        account_lease_end_pending(&shard->account_leases, pending->account);
    if (__builtin_expect(pending->has_rare, false)) {
        if (pending->copy)
            message_copy_drop(shard, pending->copy);
        pending->copy = NULL;
    }
    latency_end(&shard->quota, pending->latency);
    request_index_remove(pending);
    pending_end(&shard->pending, pending);
}

void completion_withdraw(struct shard *shard, struct pending *pending) {
    assert(!pending->outcome);
    completion_end(shard, pending, NULL);
}

// Forgets a request for which nobody waits any more; an exchange isn't kept waiting.
static void completion_forget(struct shard *shard, struct pending *pending) {
    assert(pending->used);
    struct exchange *exchange = pending->exchange;
    stats_count(&shard->stats, COUNT_REQUESTS_ABANDONED);
    audit_ended(shard, pending, ERROR_NONE);
    completion_end(shard, pending, &(struct request_end){.is_abandoned = true});
    if (exchange)
        exchange_miss(shard, exchange);
}

// Abandons a request, and tells its target.
static void abandon(struct shard *shard, struct pending *pending) {
    cancel_abandoned(shard, pending);
    completion_forget(shard, pending);
}

// Returns the source of a request. NULL: the source has left, or is about to leave, and its requests end without an
// answer, perhaps in a later turn.
static struct peer *source_of(const struct shard *shard, const struct pending *pending) {
    struct peer *source = peer_find(shard, pending->source);
    return source && (source->state == PEER_OPEN || source->state == PEER_ENDED) ? source : NULL;
}

static void end_with_error(struct shard *shard, struct pending *pending, enum error error,
                           struct text *data) {
    assert(pending->used && error > ERROR_NONE && error < ERRORS_COUNT);
    struct peer *source = source_of(shard, pending);
    if (!source) {
        if (data)
            text_deinit(data);
        abandon(shard, pending);
        return;
    }
    audit_ended(shard, pending, error);
    reply_error(shard, source, (struct reply_to){pending_id(pending), pending->id_bytes, pending->exchange},
                error, data);
    completion_end(shard, pending, &(struct request_end){.error = error});
}

// The request that a connection may end, or NULL: then the response counts as dropped. One whose source has left is as
// good as abandoned.
static inline __attribute__((always_inline)) struct pending *
claim(struct shard *shard, uint64_t hub_id, uint64_t from, size_t bytes, struct peer **source) {
    assert(hub_id_shard(hub_id) == shard->index && hub_knows(shard->hub, from));
    struct pending *pending = pending_find(&shard->pending, hub_id);
    *source = pending ? source_of(shard, pending) : NULL;
    if (!*source) {
        drop_one(shard, COUNT_DROP_RESPONSE_UNKNOWN, from, bytes);
        return NULL;
    }
    if (pending->target != from) {
        drop_one(shard, COUNT_DROP_RESPONSE_FOREIGN, from, bytes);
        return NULL;
    }
    return pending;
}

// Names the agent that was asked, as long as it is there: others may live at its connection. An agent on another hub,
// and a client that an instance asked, have no name.
static const struct agent *requested_agent(struct shard *shard, const struct pending *pending) {
    const struct registrant *registrant = agents_registrant(&shard->agents, pending->target);
    for (const struct list *node = registrant ? registrant->agents.next : NULL;
         registrant && node != &registrant->agents; node = node->next) {
        const struct agent *agent = list_entry(node, struct agent, by_registrant);
        if (agent->tag == pending->agent)
            return agent;
    }
    return NULL;
}

static void put_agent(struct text *data, const struct pending *pending, const struct agent *agent) {
    error_target_put_saved(data, pending);
    if (agent)
        reply_data_string(data, "agent", agent->id, agent->pool_bytes ? agent->pool_bytes : agent->id_bytes);
}

// Begins data with the agent, and with the fault unless that is NULL.
void completion_begin_data(struct shard *shard, const struct pending *pending, struct text *data,
                           const char *fault) {
    text_init(data);
    put_agent(data, pending, requested_agent(shard, pending));
    if (fault)
        reply_data_text(data, "fault", fault);
}

static void end_for(struct shard *shard, struct pending *pending, enum error error, const char *fault) {
    struct text data;
    completion_begin_data(shard, pending, &data, fault);
    end_with_error(shard, pending, error, &data);
}

// Ends a request whose response doesn't fit into its exchange with an error.
static void completion_without_room(struct shard *shard, struct pending *pending, size_t bytes) {
    struct text data;
    text_init(&data);
    reply_data_number(&data, "limit", shard_limits(shard)->frame_bytes_max);
    drop_one(shard, COUNT_DROP_RESPONSE_TOO_LARGE, pending->source, bytes);
    end_with_error(shard, pending, ERROR_FRAME_TOO_LARGE, &data);
}

static void note_latency(struct shard *shard, const struct pending *pending, bool is_error) {
    uint64_t now_ns = io_now(shard->io),
             us = now_ns > pending->asked_ns ? (now_ns - pending->asked_ns) / 1000 : 0;
    latency_record(pending->latency, shard_minute(shard), us, is_error);
}

void completion_deliver(struct shard *shard, uint64_t hub_id, uint64_t from, struct parcel *parcel) {
    assert(!parcel->is_encoded && parcel->hole_count == 1);
    struct peer *source;
    struct pending *pending = claim(shard, hub_id, from, parcel->bytes, &source);
    if (!pending) {
        send_release(shard, parcel);
        return;
    }
    pending_fetch_beside(pending);
    if (!parcel_fill(parcel, &(struct piece){pending_id(pending), pending->id_bytes})) {
        drop_one(shard, COUNT_DROP_NO_MEMORY, pending->source, parcel->bytes);
        send_release(shard, parcel);
        end_for(shard, pending, ERROR_INTERNAL, "there is no memory for the answer");
        return;
    }
    struct exchange *exchange = pending->exchange;
    if (exchange && !exchange_has_room(shard, exchange, parcel->bytes)) {
        completion_without_room(shard, pending, parcel->bytes);
        send_release(shard, parcel);
        return;
    }
    assert(source->connection_id == pending->source);
    parcel->hub_id = 0;
    bool is_error = parcel->mail.detail & ANSWER_ERROR;
    if (__builtin_expect(pending->has_rare, false)) {
        audit_answered(shard, pending, parcel);
        feature_response_came(shard, pending, &parcel);
    }
    if (pending->latency)
        note_latency(shard, pending, is_error);
    completion_end(shard, pending, &(struct request_end){.response = parcel, .is_error = is_error});
    stats_count(&shard->stats, COUNT_RESPONSES_FORWARDED);
    if (exchange)
        exchange_answer(shard, exchange, parcel);
    else
        send_queue_required(shard, source, parcel);
}

// Returns whether a copy of the response may be packed for its source, or for the exchange of the request.
static inline bool may_pack(const struct shard *shard, const struct peer *source,
                            const struct pending *pending, const struct frame *frame) {
    if (pending->exchange)
        return source->transport->ops.pack_answer && !frame->added;
    return send_may_pack_framed(shard, source);
}

// Packs a copy of the response, with the source's own id in place of `id`. Returns false if nothing was done.
static inline bool pack_response(struct shard *shard, struct peer *source, const struct pending *pending,
                                 const struct frame *frame, struct span id, bool is_error) {
    struct piece own_id = {pending_id(pending), pending->id_bytes};
    if (pending->exchange)
        return source->transport->ops.pack_answer(shard, source, pending->exchange, frame, id, own_id,
                                                  is_error);
    return send_pack(shard, source, frame, id, own_id, 0, NULL);
}

bool completion_pack(struct shard *shard, uint64_t hub_id, uint64_t from, const struct frame *frame,
                     struct span id, bool is_error) {
    assert(hub_id_shard(hub_id) == shard->index && hub_knows(shard->hub, from));
    if (!pack_takes(frame))
        return false;
    struct pending *pending = pending_find(&shard->pending, hub_id);
    if (!pending || pending->target != from || pending->has_rare)
        return false;
    struct peer *source = source_of(shard, pending);
    if (!source || !may_pack(shard, source, pending, frame))
        return false;
    assert(source->connection_id == pending->source && pending_is_plain(pending));
    pending_fetch_beside(pending);
    if (!pack_response(shard, source, pending, frame, id, is_error))
        return false;
    struct exchange *exchange = pending->exchange;
    if (pending->latency)
        note_latency(shard, pending, is_error);
    completion_end(shard, pending, NULL);
    stats_count(&shard->stats, COUNT_RESPONSES_FORWARDED);
    if (exchange)
        exchange_miss(shard, exchange);
    return true;
}

void completion_broken(struct shard *shard, uint64_t hub_id, uint64_t from) {
    struct peer *source;
    struct pending *pending = claim(shard, hub_id, from, 0, &source);
    if (!pending)
        return;
    end_for(shard, pending, ERROR_INTERNAL, "the target's response could not be read");
}

void completion_refused(struct shard *shard, uint64_t hub_id, enum error error) {
    assert(hub_id_shard(hub_id) == shard->index);
    struct pending *pending = pending_find(&shard->pending, hub_id);
    assert(error == ERROR_OVERLOADED);
    if (!pending)
        return;
    struct text data;
    completion_begin_data(shard, pending, &data, NULL);
    // The target's pending requests were checked before: its queue was full
    refuse_full_put(shard, &data, false);
    end_with_error(shard, pending, error, &data);
}

void completion_error(struct shard *shard, struct pending *pending, enum error error, struct text *data) {
    end_with_error(shard, pending, error, data);
}

void completion_result(struct shard *shard, struct pending *pending, struct text *result) {
    struct peer *source = source_of(shard, pending);
    struct reply_to to = {pending_id(pending), pending->id_bytes, pending->exchange};
    assert(!pending->outcome);
    if (!source) {
        text_deinit(result);
        abandon(shard, pending);
        return;
    }
    if (result->failed)
        reply_failed(shard, source, to);
    else
        reply_result(shard, source, to, result->bytes, result->length);
    text_deinit(result);
    completion_end(shard, pending, &(struct request_end){.error = ERROR_NONE});
}

void completion_cancelled(struct shard *shard, struct pending *pending) {
    assert(pending->cancelled);
    stats_count(&shard->stats, COUNT_CANCELLED_IN_QUEUE);
    end_for(shard, pending, ERROR_CANCELLED, NULL);
}

void completion_give_up(struct shard *shard, struct pending *pending, bool notify) {
    assert(pending->used);
    cancel_abandoned(shard, pending);
    if (!notify) {
        completion_forget(shard, pending);
        return;
    }
    stats_count(&shard->stats, COUNT_REQUESTS_ABANDONED);
    end_for(shard, pending, ERROR_CANCELLED, NULL);
}

static void end_left(struct shard *shard, struct pending *pending, enum error error) {
    const struct agent *agent = requested_agent(shard, pending);
    struct text data;
    text_init(&data);
    put_agent(&data, pending, agent);
    if (pending->target == shard->remote_link.registrant.connection)
        reply_data_text(&data, "link", "lost");
    stats_count(&shard->stats, COUNT_TARGETS_LEFT);
    end_with_error(shard, pending, error, &data);
}

static void end_first_of(struct shard *shard, struct registrant *registrant, enum error error) {
    struct pending *pending = list_entry(registrant->pending.next, struct pending, by_target);
    assert(pending->target == registrant->connection);
    end_left(shard, pending, error);
}

void completion_end_all_at(struct shard *shard, struct registrant *registrant) {
    while (!list_empty(&registrant->pending))
        end_first_of(shard, registrant, ERROR_TARGET_DISCONNECTED);
}

bool completion_end_some_at(struct shard *shard, struct registrant *registrant, enum error error) {
    assert(registrant->leaving);
    for (uint32_t remaining = shard->bounds.request_ends_max;
         remaining > 0 && !list_empty(&registrant->pending); remaining--)
        end_first_of(shard, registrant, error);
    return list_empty(&registrant->pending);
}

bool exempt_requests_has(const struct exempt_requests *exempt_requests, uint64_t id) {
    const uint64_t *ids = exempt_requests->ids;
    size_t low = 0, high = exempt_requests->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ids[middle] == id)
            return true;
        if (ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

void completion_mark(struct registrant *registrant) {
    for (struct list *node = registrant->pending.next; node != &registrant->pending; node = node->next)
        list_entry(node, struct pending, by_target)->is_marked = true;
}

uint32_t completion_target_restarts(struct shard *shard, struct registrant *registrant,
                                    const struct exempt_requests *exempt_requests) {
    uint32_t count = 0;
    for (struct list *node = registrant->pending.next, *next; node != &registrant->pending; node = next) {
        struct pending *pending = list_entry(node, struct pending, by_target);
        next = node->next;
        bool aside = pending->aside && exempt_requests->aside;
        bool is_later = exempt_requests->marked && !pending->is_marked;
        uint64_t id = pending_hub_id(&shard->pending, pending);
        if (aside || is_later || exempt_requests_has(exempt_requests, id))
            continue;
        cancel_abandoned(shard, pending);
        end_left(shard, pending, ERROR_TARGET_DISCONNECTED);
        count++;
    }
    return count;
}

// Abandons the first *remaining requests of a list.
static void abandon_some(struct shard *shard, struct list *requests, uint32_t *remaining) {
    for (; *remaining > 0 && !list_empty(requests); --*remaining) {
        struct pending *pending = list_entry(requests->next, struct pending, by_source);
        // A peer that is ending is found, too
        const struct peer *source = shard->peers.slots[connection_slot(pending->source)];
        assert(source && source->connection_id == pending->source && source->state != PEER_OPEN);
        const struct identity *identity = identity_of(source);
        if (identity && identity->revoked) // forwarded requests go on
            completion_forget(shard, pending);
        else
            abandon(shard, pending);
    }
}

void completion_abandon_all(struct shard *shard, struct peer *source) {
    uint32_t all = UINT32_MAX;
    abandon_some(shard, &source->request_index.requests, &all);
    assert(completion_all_abandoned(source));
}

void completion_abandon_in_parts(struct shard *shard, struct peer *source) {
    assert(connection_shard(source->connection_id) == shard->index && source->state != PEER_OPEN);
    if (list_empty(&shard->abandoned))
        abandon_some(shard, &source->request_index.requests, &shard->ends_left);
    list_move_all(&source->request_index.requests, &shard->abandoned);
}

void completion_abandon_on(struct shard *shard) {
    abandon_some(shard, &shard->abandoned, &shard->ends_left);
    shard->ends_left = shard->bounds.request_ends_max;
}

void completion_end_endless(struct shard *shard, struct peer *source) {
    struct list *requests = &source->request_index.requests;
    assert(source->state == PEER_ENDED);
    for (struct list *node = requests->next, *next; node != requests; node = next) {
        struct pending *pending = list_entry(node, struct pending, by_source);
        next = node->next;
        if (!timer_armed(&pending->timer))
            abandon(shard, pending);
    }
}

static void end_endless_of(struct shard *shard, struct peer *source) {
    struct list *requests = &source->request_index.requests;
    for (struct list *node = requests->next, *next; node != requests; node = next) {
        struct pending *pending = list_entry(node, struct pending, by_source);
        next = node->next;
        if (timer_armed(&pending->timer))
            continue;
        cancel_abandoned(shard, pending);
        end_for(shard, pending, ERROR_TARGET_DISCONNECTED, refuse_hub_ends);
    }
}

void completion_end_endless_all(struct shard *shard) {
    assert(shard->phase == HUB_DRAINING);
    for (uint32_t slot = 0; slot < shard->peers.capacity; slot++)
        if (shard->peers.slots[slot])
            end_endless_of(shard, shard->peers.slots[slot]);
}

void completion_end_all(struct shard *shard) {
    assert(shard->phase != HUB_SERVING);
    for (uint32_t slot = 0; slot < shard->peers.capacity; slot++) {
        struct peer *peer = shard->peers.slots[slot];
        while (peer && !list_empty(&peer->request_index.requests))
            end_for(shard, list_entry(peer->request_index.requests.next, struct pending, by_source),
                    ERROR_TARGET_DISCONNECTED, refuse_hub_ends);
    }
}
