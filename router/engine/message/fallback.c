#include "router/engine/message/fallback.h"

#include <assert.h>

#include "core/send/frame_copy.h"
#include "router/engine/message/stall_queue.h"
#include "router/engine/shard/post.h"

// The fallbacks of one shard are bounded as the bytes that wait for the server are.
static bool has_room(const struct shard *shard) {
    return shard->sought.bytes < shard_limits(shard)->queue_bytes_max;
}

static struct fallback *make(struct shard *shard, const struct message *message) {
    struct fallback *sought = quota_take_zeroed(&shard->quota, 1, sizeof *sought);
    assert(!message_is_request(message) && !message->returned);
    if (!sought)
        return NULL;
    sought->number = (uint64_t)shard->index << (64 - HUB_ID_SHARD_BITS) | (shard->sought.last + 1);
    sought->message = message_copy_keep(shard, message, false);
    if (sought->message && hash_table_add(&shard->sought.by_number, &sought->node, sought->number))
        return sought;
    if (sought->message)
        message_copy_drop(shard, sought->message);
    quota_give(&shard->quota, sought);
    return NULL;
}

// No two have one number, which is its own hash: they are given out in turn.
uint64_t fallback_keep(struct shard *shard, const struct message *message, bool asks) {
    struct peer *peer = message->peer;
    struct annex *annex = has_room(shard) ? peer_annex(shard, peer) : NULL;
    struct fallback *sought = annex ? make(shard, message) : NULL;
    if (!sought)
        return 0;
    shard->sought.last++;
    sought->source = peer->name;
    sought->asks = asks;
    sought->bytes = frame_copy_bytes(&sought->message->frame) + sizeof *sought + sizeof *sought->message;
    shard->sought.bytes += sought->bytes;
    list_append(&annex->sought, &sought->by_source);
    timer_init(&sought->timer, TIMER_SOUGHT);
    wheel_arm(&shard->wheel, &sought->timer, shard_now_ms(shard) + FALLBACK_MS);
    peer->stalled = true;
    peer->awaited++; // who half-closes behind it stays for it
    return sought->number;
}

struct fallback *fallback_find(const struct shard *shard, uint64_t number) {
    struct hash_node *node = hash_table_find(&shard->sought.by_number, number);
    assert(!node || fallback_shard(number) == shard->index);
    return node ? hash_table_entry(node, struct fallback, node) : NULL;
}

// Returns the source, also one that is about to go.
static struct peer *source_of(const struct shard *shard, const struct fallback *sought) {
    struct peer *peer = shard->peers.slots[connection_slot(sought->source)];
    assert(peer && peer->name == sought->source && peer->awaited > 0);
    return peer;
}

void fallback_forget(struct shard *shard, struct fallback *sought) {
    struct peer *peer = source_of(shard, sought);
    assert(shard->sought.bytes >= sought->bytes);
    peer->awaited--;
    shard->sought.bytes -= sought->bytes;
    wheel_disarm(&sought->timer);
    list_remove(&sought->by_source);
    peer->stalled = !list_empty(&peer->annex->sought) || !list_empty(&peer->annex->stalled);
    hash_table_remove(&shard->sought.by_number, &sought->node);
    message_copy_drop(shard, sought->message);
    quota_give(&shard->quota, sought);
    peer_settle(shard, peer);
}

void fallback_leave(struct shard *shard, struct peer *peer) {
    struct list *all = peer->annex ? &peer->annex->sought : NULL;
    assert(peer->state != PEER_OPEN);
    stall_queue_leave(shard, peer);
    while (all && !list_empty(all))
        fallback_forget(shard, list_entry(all->next, struct fallback, by_source));
}

void fallback_settled(struct shard *shard, struct mail *mail) {
    struct mail **last = shard->sought.settled ? &shard->sought.settled_last->next : &shard->sought.settled;
    assert(mail->kind == MAIL_SOUGHT);
    mail->next = NULL;
    *last = shard->sought.settled_last = mail;
}
