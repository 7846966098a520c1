#include "router/features/cluster/outbound_request.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "router/engine/request/cancel.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/post.h"
#include "router/features/cluster/hub_message.h"
#include "router/features/cluster/nats_publish.h"
#include "router/forwarding/remote_target.h"
#include "router/forwarding/responses.h"
#include "router/routing/remote_end.h"

// --- The table

void outbound_request_init(struct outbound_requests *requests, const struct siphash_key *key,
                           struct quota *kept) {
    *requests = (struct outbound_requests){.kept = kept};
    requests->secret = siphash_table(key, "outbound", 8);
    hash_table_init(&requests->by_number, kept);
    list_init(&requests->untaken);
}

static uint64_t hash_of(const struct outbound_requests *requests, uint64_t number) {
    assert(number);
    return hash_table_hash(number, requests->secret);
}

static struct outbound_request *outbound_request_find(const struct outbound_requests *requests,
                                                      uint64_t number) {
    struct hash_node *node = hash_table_find(&requests->by_number, hash_of(requests, number));
    while (node && hash_table_entry(node, struct outbound_request, node)->number != number)
        node = hash_table_next(node);
    return node ? hash_table_entry(node, struct outbound_request, node) : NULL;
}

static struct outbound_request *add(struct link *link, uint64_t number) {
    struct outbound_requests *requests = &link->outbound;
    struct outbound_request *fresh = freelist_take(&requests->spares);
    assert(link->shard->index == 0);
    if (!fresh)
        fresh = quota_take(requests->kept, sizeof *fresh);
    if (!fresh)
        return NULL;
    *fresh = (struct outbound_request){.number = number, .sent_ms = shard_now_ms(link->shard)};
    if (!hash_table_add(&requests->by_number, &fresh->node, hash_of(requests, number))) {
        freelist_give(&requests->spares, requests->kept, fresh);
        return NULL;
    }
    list_append(&requests->untaken, &fresh->link);
    return fresh;
}

static void take_out(struct outbound_requests *requests, struct outbound_request *request) {
    assert(outbound_request_find(requests, request->number) == request);
    hash_table_remove(&requests->by_number, &request->node);
    list_remove(&request->link);
}

static void outbound_request_remove(struct link *link, struct outbound_request *request) {
    take_out(&link->outbound, request);
    freelist_give(&link->outbound.spares, link->outbound.kept, request);
}

static void forget_list(struct outbound_requests *requests, struct list *all) {
    while (!list_empty(all)) {
        struct outbound_request *request = list_entry(all->next, struct outbound_request, link);
        take_out(requests, request);
        freelist_give(&requests->spares, requests->kept, request);
    }
}

void outbound_request_forget(struct outbound_requests *requests, struct cluster_member *member) {
    forget_list(requests, &member->owes);
}

void outbound_request_forget_all(struct outbound_requests *requests) {
    forget_list(requests, &requests->untaken);
    assert(requests->by_number.count == 0); // what was taken went with its taker
}

void outbound_request_deinit(struct outbound_requests *requests) {
    outbound_request_forget_all(requests);
    hash_table_deinit(&requests->by_number);
    freelist_release(&requests->spares, requests->kept);
}

// --- Ends

static void post(struct link *link, struct remote_end *end) {
    struct shard *shard = link->shard;
    uint32_t to = hub_id_shard(end->hub_id);
    end->mail.kind = MAIL_REMOTE;
    end->mail.connection = link->peer->name;
    assert(to < shard->hub->settings.shard_count);
    if (to == shard->index)
        remote_end_arrived(shard, &end->mail);
    else
        mailbox_post(hub_mailbox(shard->hub, shard->index, to), &end->mail);
}

// It ends on its source's shard. What tells that is its own memory, so that there always is some.
static void end(struct link *link, struct outbound_request *request, enum remote_end_kind kind,
                uint64_t bytes) {
    uint64_t number = request->number;
    static_assert(offsetof(struct outbound_request, end) == 0, "what is given back is what was taken");
    take_out(&link->outbound, request);
    request->end = (struct remote_end){.hub_id = number, .bytes = bytes, .mail = {.detail = (uint8_t)kind}};
    post(link, &request->end);
}

void outbound_request_lose(struct link *link, struct cluster_member *member) {
    assert(link->shard->index == 0);
    while (!list_empty(&member->owes)) {
        stats_count(&link->shard->stats, COUNT_REQUESTS_LOST);
        end(link, list_entry(member->owes.next, struct outbound_request, link), REMOTE_LOST, 0);
    }
}

void outbound_request_tick(struct link *link) {
    struct list *untaken = &link->outbound.untaken;
    uint64_t now_ms = shard_now_ms(link->shard);
    assert(link->shard->index == 0);
    while (!list_empty(untaken)) {
        struct outbound_request *request = list_entry(untaken->next, struct outbound_request, link);
        if (now_ms - request->sent_ms < CLUSTER_NOT_TAKEN_MS)
            break;
        stats_count(&link->shard->stats, COUNT_REQUESTS_NOT_TAKEN);
        struct parcel *parcel = outbox_remove(&link->peer->connection.outbox, request->number);
        if (parcel) // it waits for the server still
            send_release(link->shard, parcel);
        end(link, request, REMOTE_NOT_TAKEN, 0);
    }
    freelist_shrink(&link->outbound.spares, link->outbound.kept);
}

// --- Going

// What bears no head means nothing to a server.
bool outbound_request_divert(struct shard *shard, struct peer *peer, struct parcel *parcel) {
    struct link *link = link_of(shard, peer);
    assert(link && link->peer == peer);
    if (parcel->dressed || (parcel->has_head && !parcel->hub_id))
        return false;
    if (parcel->has_head && add(link, parcel->hub_id)) {
        stats_count(&shard->stats, COUNT_REQUESTS_SENT);
        return false;
    }
    drop_one(shard, parcel->has_head ? COUNT_DROP_NO_MEMORY : COUNT_DROP_TARGET_GONE, peer->name,
             parcel->bytes);
    if (parcel->has_head) // without memory to remember it by, a request isn't sent
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
    send_release(shard, parcel);
    return true;
}

// In the hub's own words.
static void cancel_at(struct link *link, const struct hub_name *hub, uint64_t number) {
    char body[96], length[WIRE_HEAD_BYTES_MAX];
    struct text payload;
    int bytes = snprintf(body, sizeof body,
                         "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":%llu}}",
                         (unsigned long long)number);
    assert(bytes > 0 && (size_t)bytes < sizeof body);
    text_init(&payload);
    text_add(&payload, length, wire_framed.head(length, (size_t)bytes));
    text_put(&payload, "\r\n");
    text_add(&payload, body, (size_t)bytes);
    nats_publish_to(link, hub, hub ? SUBJECT_CANCEL : SUBJECT_HUBS_CANCEL, 0, &payload);
}

// In its source's words, ahead of what waits: the request has gone. Without room for them the hub's own do.
static void pass_cancel(struct link *link, const struct outbound_request *request, struct parcel *parcel) {
    char subject[SUBJECT_BYTES_MAX];
    struct shard *shard = link->shard;
    const char *cluster = shard->hub->settings.cluster->name;
    const struct hub_name *hub = request->taker ? &request->taker->hub : NULL;
    struct hub_envelope envelope = {.subject = subject};
    uint64_t bytes;
    assert(link->shard->index == 0);
    envelope.subject_bytes = hub ? subject_write_hub(subject, cluster, hub, SUBJECT_CANCEL, 0)
                                 : subject_write_hubs(subject, cluster, SUBJECT_HUBS_CANCEL);
    parcel->hub_id = 0; // it is no request
    bool is_short = parcel->bytes <= COPY_BYTES_MAX || send_has_room(shard, link->peer);
    if (is_short && send_has_room_for_urgent(shard, link->peer) &&
        remote_target_put_head(shard, parcel, &envelope, &bytes) == ERROR_NONE) {
        parcel->lane = LANE_URGENT;
        stats_count(&shard->stats, COUNT_CANCELS_FORWARDED);
        send_queue_bound(shard, link->peer, parcel);
        return;
    }
    cancel_at(link, hub, request->number);
    send_release(shard, parcel);
}

bool outbound_request_cancel(struct shard *shard, struct peer *peer, struct parcel *parcel, bool lasts) {
    struct link *link = link_of(shard, peer);
    struct outbound_request *request = link ? outbound_request_find(&link->outbound, parcel->hub_id) : NULL;
    struct parcel *waiting = request ? outbox_remove(&peer->connection.outbox, parcel->hub_id) : NULL;
    assert(shard->index == 0);
    if (waiting) { // it hasn't gone
        send_release(shard, waiting);
        outbound_request_remove(link, request);
        return true;
    }
    if (request)
        pass_cancel(link, request, parcel);
    else
        send_release(shard, parcel);
    if (request && lasts)
        request->is_cancelled = true;
    else if (request)
        outbound_request_remove(link, request);
    return false;
}

// --- What other hubs say

// It is that hub's; false: another one has it.
static bool give_to(struct outbound_request *request, struct cluster_member *member) {
    if (!member || request->taker == member)
        return true;
    if (request->taker)
        return false;
    request->taker = member;
    list_remove(&request->link);
    list_append(&member->owes, &request->link);
    return true;
}

static void deliver(struct link *link, struct outbound_request *request, const struct frame *frame,
                    const struct hub_header *header) {
    struct hub_message message = {.header = *header};
    enum error error;
    uint64_t number = request->number;
    assert(link->shard->index == 0);
    if (!hub_message_read(link->shard, frame, &message, &error)) {
        bool is_large = error == ERROR_FRAME_TOO_LARGE;
        end(link, request, is_large ? REMOTE_TOO_LARGE : REMOTE_UNREADABLE, is_large ? message.excess : 0);
        return;
    }
    if (responses_deliver(link->shard, link->peer, &message.frame, number))
        outbound_request_remove(link, request);
    else
        end(link, request, REMOTE_UNREADABLE, 0);
}

bool outbound_request_answer(struct link *link, struct cluster_member *member, const struct frame *frame,
                             const struct nats_message *said, const struct hub_header *header,
                             uint64_t number) {
    const uint8_t *bytes = frame->buffer->bytes + frame->at;
    struct outbound_request *request = outbound_request_find(&link->outbound, number);
    assert(link->shard->index == 0);
    if (!request)
        return false;
    if (!header->given && nats_status(bytes, said->headers) == 503) {
        if (request->taker)
            return true; // the server can't know better
        stats_count(&link->shard->stats, COUNT_REQUESTS_UNHEARD);
        end(link, request, REMOTE_UNANSWERED, 0);
        return true;
    }
    if ((header->given && !member) || (!header->given && request->taker) || !give_to(request, member))
        return false; // another hub's, or nobody's
    deliver(link, request, frame, header);
    return true;
}

// What has ended here meanwhile is cancelled there: its answer would be nobody's.
static void note_taken(struct link *link, struct cluster_member *member, uint64_t number) {
    struct outbound_request *request = outbound_request_find(&link->outbound, number);
    bool is_its = request && give_to(request, member);
    assert(number);
    if (!is_its || request->is_cancelled)
        cancel_at(link, &member->hub, number);
}

bool outbound_request_taken(struct link *link, struct cluster_member *member, const uint8_t *body,
                            uint32_t bytes) {
    struct json_walk walk;
    assert(link->shard->index == 0);
    if (bytes < 2 || body[0] != '[' || !json_valid(body, bytes))
        return false;
    json_walk_begin(&walk, body, (struct span){0, bytes});
    for (struct json_item item; link->peer->state == PEER_OPEN && json_next(&walk, &item) == JSON_ITEM;) {
        uint64_t number = 0;
        if (item.type != JSON_NUMBER || !json_number_whole(body, item.value, &number) || !number)
            return false;
        note_taken(link, member, number);
    }
    return true;
}

bool outbound_request_progress(struct link *link, struct cluster_member *member, uint64_t number) {
    struct outbound_request *request = outbound_request_find(&link->outbound, number);
    assert(member);
    return request && give_to(request, member);
}

bool outbound_request_held(struct link *link, struct cluster_member *member, uint64_t number,
                           const uint8_t *body, uint32_t bytes) {
    struct span all = {0, bytes};
    char checkpoint[METHOD_BYTES_MAX];
    uint64_t wait_ms = 0;
    assert(link->shard->index == 0);
    if (!bytes || !json_valid(body, bytes))
        return false;
    struct json_item wait = json_member(body, all, "waitMs"), name = json_member(body, all, "checkpoint");
    size_t count = name.type == JSON_STRING
                       ? json_string_decode(body, name.value, checkpoint, sizeof checkpoint)
                       : SIZE_MAX;
    if (wait.type != JSON_NUMBER || !json_number_whole(body, wait.value, &wait_ms) || count == SIZE_MAX ||
        wait_ms > CLUSTER_HELD_MS_MAX)
        return false;
    if (!outbound_request_progress(link, member, number))
        return true; // it has ended
    struct remote_end *held = quota_take(&link->shard->quota, sizeof *held + count);
    if (!held)
        return true; // its time goes on
    *held = (struct remote_end){.hub_id = number,
                                .wait_ms = wait_ms,
                                .checkpoint_bytes = (uint32_t)count,
                                .mail = {.detail = REMOTE_HELD}};
    memcpy(remote_end_checkpoint(held), checkpoint, count);
    post(link, held);
    return true;
}
