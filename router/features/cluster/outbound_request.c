#include "router/features/cluster/outbound_request.h"

#include <assert.h>
#include <string.h>

#include "router/engine/request/cancel.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/post.h"
#include "router/features/cluster/hub_message.h"
#include "router/features/cluster/nats_publish.h"
#include "router/forwarding/forward.h"
#include "router/forwarding/remote_target.h"
#include "router/routing/remote_end.h"

// --- The table

static uint64_t hash_of(const struct hash_table *by_number, const struct hash_node *node) {
    return hash_table_hash(hash_table_entry(node, struct outbound_request, node)->number,
                           hash_table_entry(by_number, const struct outbound_requests, by_number)->secret);
}

void outbound_request_init(struct outbound_requests *requests, const struct siphash_key *key,
                           struct quota *quota) {
    *requests = (struct outbound_requests){.quota = quota};
    requests->secret = siphash_table(key, "outbound", 8);
    hash_table_init(&requests->by_number, hash_of, quota);
    list_init(&requests->unacked);
}

static struct outbound_request *outbound_request_find(const struct outbound_requests *requests,
                                                      uint64_t number) {
    struct hash_node *node = hash_table_find(&requests->by_number, hash_table_hash(number, requests->secret));
    while (node && hash_table_entry(node, struct outbound_request, node)->number != number)
        node = node->next;
    return node ? hash_table_entry(node, struct outbound_request, node) : NULL;
}

// Adds a request that is queued for the link, and counts it. Returns false without memory.
static bool add(struct link *link, uint64_t number) {
    struct outbound_requests *requests = &link->outbound;
    struct outbound_request *fresh = freelist_take(&requests->freelist);
    assert(number);
    if (!fresh)
        fresh = quota_take(requests->quota, sizeof *fresh);
    if (!fresh)
        return false;
    *fresh = (struct outbound_request){.number = number, .sent_ms = shard_now_ms(link->shard)};
    if (!hash_table_add(&requests->by_number, &fresh->node)) {
        freelist_give(&requests->freelist, requests->quota, fresh);
        return false;
    }
    list_append(&requests->unacked, &fresh->link);
    stats_count(&link->shard->stats, FEATURE_COUNTER(FEATURE_CLUSTER, CLUSTER_COUNT_REQUESTS_SENT));
    return true;
}

static void take_out(struct outbound_requests *requests, struct outbound_request *request) {
    assert(outbound_request_find(requests, request->number) == request);
    hash_table_remove(&requests->by_number, &request->node);
    list_remove(&request->link);
}

static void outbound_request_remove(struct outbound_requests *requests, struct outbound_request *request) {
    take_out(requests, request);
    freelist_give(&requests->freelist, requests->quota, request);
}

void outbound_request_forget(struct outbound_requests *requests, struct list *all) {
    while (!list_empty(all))
        outbound_request_remove(requests, list_entry(all->next, struct outbound_request, link));
}

void outbound_request_deinit(struct outbound_requests *requests) {
    outbound_request_forget(requests, &requests->unacked);
    assert(requests->by_number.count == 0); // taken requests were removed with their takers
    hash_table_deinit(&requests->by_number);
    freelist_release(&requests->freelist, requests->quota);
}

// --- Ends

static void post(struct link *link, struct remote_end *end) {
    struct shard *shard = link->shard;
    uint32_t to = hub_id_shard(end->hub_id);
    end->mail.kind = MAIL_REMOTE;
    end->mail.connection = link->peer->connection_id;
    assert(to < shard->hub->start_settings.shard_count);
    if (to == shard->index)
        remote_end_arrived(shard, &end->mail);
    else
        mailbox_post(hub_mailbox(shard->hub, shard->index, to), &end->mail);
}

// Ends a request on its source's shard. The mail reuses the request's own memory, so that there always is memory for
// it.
static void end(struct link *link, struct outbound_request *request, enum remote_end_kind kind,
                uint64_t bytes) {
    uint64_t number = request->number;
    static_assert(offsetof(struct outbound_request, end) == 0, "what is given back is what was taken");
    take_out(&link->outbound, request);
    request->end = (struct remote_end){.hub_id = number, .bytes = bytes, .mail = {.detail = (uint8_t)kind}};
    post(link, &request->end);
}

void outbound_request_lose(struct link *link, struct cluster_member *member) {
    assert(link->peer);
    while (!list_empty(&member->outbound)) {
        stats_count(&link->shard->stats, FEATURE_COUNTER(FEATURE_CLUSTER, CLUSTER_COUNT_REQUESTS_LOST));
        end(link, list_entry(member->outbound.next, struct outbound_request, link), REMOTE_LOST, 0);
    }
}

void outbound_request_tick(struct link *link) {
    struct list *unacked = &link->outbound.unacked;
    uint64_t now_ms = shard_now_ms(link->shard);
    assert(link->state == LINK_UP);
    while (!list_empty(unacked)) {
        struct outbound_request *request = list_entry(unacked->next, struct outbound_request, link);
        if (now_ms - request->sent_ms < CLUSTER_NOT_TAKEN_MS)
            break;
        stats_count(&link->shard->stats, FEATURE_COUNTER(FEATURE_CLUSTER, CLUSTER_COUNT_REQUESTS_NOT_TAKEN));
        // The request may still wait in the link's queue
        cancel_withdraw(link->shard, link->peer, request->number);
        end(link, request, REMOTE_NOT_TAKEN, 0);
    }
    freelist_shrink(&link->outbound.freelist, link->outbound.quota);
}

// --- Sending

bool outbound_request_note(struct shard *shard, struct peer *peer, uint64_t hub_id) {
    if (add(cluster_of(shard), hub_id))
        return true;
    outbox_unpack(&peer->connection.outbox, hub_id);
    return false;
}

// Notes a request that is queued for the link. Drops a parcel without a NATS head, which a server couldn't read.
bool outbound_request_divert(struct shard *shard, struct peer *peer, struct parcel *parcel) {
    assert(link_of(shard, peer));
    if (parcel->is_encoded || (parcel->has_head && !parcel->hub_id))
        return false;
    if (parcel->has_head && add(cluster_of(shard), parcel->hub_id))
        return false;
    drop_one(shard, parcel->has_head ? COUNT_DROP_NO_MEMORY : COUNT_DROP_TARGET_GONE, peer->connection_id,
             parcel->bytes);
    if (parcel->has_head) // a request that can't be noted isn't sent
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
    send_release(shard, parcel);
    return true;
}

// Publishes a cancel in the hub's own words.
static void cancel_at(struct link *link, const struct cluster_member *taker, uint64_t number) {
    struct text body;
    struct hub_words words = {.kind = taker ? SUBJECT_CANCEL : SUBJECT_HUBS_CANCEL,
                              .hub = taker ? &taker->hub : NULL,
                              .is_frame = true};
    assert(number);
    text_init(&body);
    text_put(&body, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":");
    text_number(&body, (int64_t)number);
    text_put(&body, "}}");
    nats_publish(link, &words, &body);
}

// Sends the source's own cancel of a request that is sent, ahead of the queue. Without room for that, publishes the
// hub's own cancel.
static void pass_cancel(struct link *link, const struct outbound_request *request, struct parcel *parcel) {
    char subject[SUBJECT_BYTES_MAX];
    struct shard *shard = link->shard;
    const struct cluster_member *taker = request->taker;
    struct hub_envelope envelope = {.subject = subject};
    uint64_t bytes;
    assert(parcel->hub_id == request->number);
    envelope.subject_bytes =
        subject_write_hub(subject, shard->hub->start_settings.cluster.name, taker ? &taker->hub : NULL,
                          taker ? SUBJECT_CANCEL : SUBJECT_HUBS_CANCEL, 0);
    parcel->hub_id = 0; // a cancel is no request
    bool is_short = parcel->bytes <= COPY_BYTES_MAX || queue_limit_has_room(shard, link->peer);
    if (is_short && queue_limit_has_room_for_urgent(shard, link->peer) &&
        remote_target_put_head(shard, parcel, &envelope, &bytes) == ERROR_NONE) {
        parcel->lane = LANE_URGENT;
        stats_count(&shard->stats, COUNT_CANCELS_FORWARDED);
        send_queue_this_process(shard, link->peer, parcel);
        return;
    }
    cancel_at(link, taker, request->number);
    send_release(shard, parcel);
}

bool outbound_request_cancel(struct shard *shard, struct peer *peer, struct parcel *parcel,
                             bool source_waits) {
    struct link *link = link_of(shard, peer);
    struct outbound_request *request = link ? outbound_request_find(&link->outbound, parcel->hub_id) : NULL;
    assert(shard->index == 0);
    if (request && cancel_withdraw(shard, peer, parcel->hub_id)) {
        outbound_request_remove(&link->outbound, request);
        return true;
    }
    if (request)
        pass_cancel(link, request, parcel);
    else
        send_release(shard, parcel);
    if (request && source_waits)
        request->is_cancelled = true;
    else if (request)
        outbound_request_remove(&link->outbound, request);
    return false;
}

// --- Messages of other hubs

// Notes that the hub has taken the request. Returns false if another hub has taken it already.
static bool give_to(struct outbound_request *request, struct cluster_member *member) {
    if (!member || request->taker == member)
        return true;
    if (request->taker)
        return false;
    request->taker = member;
    list_remove(&request->link);
    list_append(&member->outbound, &request->link);
    return true;
}

static void deliver(struct link *link, struct outbound_request *request, struct hub_message *message) {
    uint64_t number = request->number;
    enum error error = hub_message_open(link->shard, message);
    assert(number == message->subject.number);
    if (!error && responses_deliver(link->shard, link->peer, &message->frame, number))
        outbound_request_remove(&link->outbound, request);
    else
        end(link, request, error == ERROR_FRAME_TOO_LARGE ? REMOTE_TOO_LARGE : REMOTE_UNREADABLE,
            message->excess);
}

bool outbound_request_answer(struct link *link, struct hub_message *message) {
    struct outbound_request *request = outbound_request_find(&link->outbound, message->subject.number);
    bool has_hub = message->header.is_present;
    assert(!message->header.is_present == !message->member);
    if (!request)
        return false;
    if (!has_hub && nats_status(message->bytes, message->said->headers) == 503) {
        if (request->taker)
            return true; // another hub has the request: the server's report is wrong
        stats_count(&link->shard->stats, FEATURE_COUNTER(FEATURE_CLUSTER, CLUSTER_COUNT_REQUESTS_UNHEARD));
        end(link, request, REMOTE_UNANSWERED, 0);
        return true;
    }
    if ((!has_hub && request->taker) || !give_to(request, message->member))
        return false; // another hub has the request
    deliver(link, request, message);
    return true;
}

// Notes that a hub has taken a request. If the request has ended or was cancelled meanwhile, or another hub has it,
// cancels it at that hub: nobody waits for the answer.
static void note_taken(struct link *link, struct cluster_member *member, uint64_t number) {
    struct outbound_request *request = outbound_request_find(&link->outbound, number);
    if (!request || !give_to(request, member) || request->is_cancelled)
        cancel_at(link, member, number);
}

bool outbound_request_taken(struct link *link, const struct hub_message *message) {
    struct json_walk walk;
    assert(message->member);
    if (!message->json.bytes || message->body[0] != '[')
        return false;
    json_walk_begin(&walk, message->body, message->json);
    for (struct json_item item; link->peer->state == PEER_OPEN && json_next(&walk, &item) == JSON_ITEM;) {
        uint64_t number = 0;
        if (item.type != JSON_NUMBER || !json_number_whole(message->body, item.value, &number) || !number)
            return false;
        note_taken(link, message->member, number);
    }
    return true;
}

bool outbound_request_progress(struct link *link, struct cluster_member *member, uint64_t number) {
    struct outbound_request *request = outbound_request_find(&link->outbound, number);
    assert(member);
    return request && give_to(request, member);
}

bool outbound_request_held(struct link *link, const struct hub_message *message) {
    char checkpoint[METHOD_BYTES_MAX];
    uint64_t number = message->subject.number;
    uint64_t wait_ms = json_member_whole(message->body, message->json, "waitMs");
    size_t count =
        json_member_text(message->body, message->json, "checkpoint", checkpoint, sizeof checkpoint);
    assert(message->member);
    if (!wait_ms || wait_ms > CLUSTER_HELD_MS_MAX || count == SIZE_MAX)
        return false;
    if (!outbound_request_progress(link, message->member, number))
        return true; // the request has ended
    struct remote_end *held = quota_take(&link->shard->quota, sizeof *held + count);
    if (!held)
        return true; // the request's time-out stays as it is
    *held = (struct remote_end){.hub_id = number,
                                .wait_ms = wait_ms,
                                .checkpoint_bytes = (uint32_t)count,
                                .mail = {.detail = REMOTE_HELD}};
    memcpy(remote_end_checkpoint(held), checkpoint, count);
    post(link, held);
    return true;
}
