#include "router/features/cluster/heartbeat.h"

#include <assert.h>
#include <string.h>

#include "router/engine/request/cancel.h"
#include "router/engine/request/completion.h"
#include "router/engine/send/exchange.h"
#include "router/features/cluster/hub_message.h"
#include "router/features/cluster/interest.h"
#include "router/features/cluster/name_conflict.h"
#include "router/features/cluster/nats_publish.h"
#include "router/features/cluster/outbound_cancel.h"
#include "router/features/cluster/outbound_request.h"
#include "router/features/cluster/outbound_retry.h"
#include "router/features/cluster/spill_report.h"

// Lists of requests that nobody took, a second: the oldest; others are asked after later.
enum { SEEK_LISTS_MAX = 32 };

static struct cluster_members *neighbours_of(struct link *link) {
    assert(link->peer);
    return &link->inflight.cluster_members;
}

static bool has_room(const struct text *list) {
    return list->length + 17 <= HUB_HEADER_NUMBERS_BYTES_MAX;
}

// --- Hubs that have gone

// The request that was forwarded for a visitor; NULL: it has ended, or isn't forwarded yet.
static struct pending *pending_of(struct link *link, const struct inbound_request *inbound) {
    uint64_t hub_id = inbound->exchange->hub_id;
    struct pending *pending = hub_id ? pending_find(&link->shard->pending, hub_id) : NULL;
    assert(!pending || pending->exchange == inbound->exchange);
    return pending;
}

static void cancel_visitor(struct link *link, const struct inbound_request *inbound, bool lasts) {
    struct shard *shard = link->shard;
    struct pending *pending = pending_of(link, inbound);
    if (!pending || (lasts && pending->cancelled))
        return;
    assert(pending->source == link->peer->name);
    if (lasts && cancel_is_end(shard, pending)) {
        completion_given_up(shard, pending, true);
    } else if (lasts) {
        if (cancel_at_target(shard, pending))
            completion_cancelled(shard, pending);
    } else {
        cancel_downstream(shard, pending);
        if (pending->cancelled)
            completion_given_up(shard, pending, false);
    }
}

// It denies nothing any more: what it hasn't denied, it may have had.
static void forget_denials(struct link *link, const struct cluster_member *remote) {
    struct list *untaken = &link->inflight.untaken;
    if (remote->place == CLUSTER_MEMBERS_MAX)
        return;
    uint64_t bit = UINT64_C(1) << remote->place % 64;
    for (struct list *node = untaken->next; node != untaken; node = node->next) {
        struct outbound_request *outbound = list_entry(node, struct outbound_request, link);
        uint64_t none = 0, *word = outbound->rest ? &outbound->rest->denied[remote->place / 64] : &none;
        outbound->unsure |= !(*word & bit);
        *word &= ~bit;
    }
}

// What can't be cancelled yet, since it isn't forwarded, is looked at again a second later.
static void leave(struct link *link, struct cluster_member *remote) {
    for (struct list *node = remote->owes.next, *next; node != &remote->owes; node = next) {
        next = node->next;
        outbound_request_lost(link, list_entry(node, struct outbound_request, link));
    }
    for (struct list *node = remote->asked.next, *next; node != &remote->asked; node = next) {
        next = node->next;
        cancel_visitor(link, list_entry(node, struct inbound_request, link), false);
    }
    assert(list_empty(&remote->owes));
    forget_denials(link, remote);
    cluster_members_displace(neighbours_of(link), remote);
    if (list_empty(&remote->asked))
        cluster_members_remove(neighbours_of(link), remote);
}

void heartbeat_hub_gone(struct link *link, const char hub[HUB_NAME_BYTES]) {
    struct cluster_member *remote = cluster_members_find(neighbours_of(link), hub);
    if (remote)
        leave(link, remote);
}

void heartbeat_farewell(struct shard *shard) {
    struct link *link = shard->link;
    assert(shard->phase == HUB_CLOSING);
    if (link && link->state == LINK_UP && link->peer && link->peer->state == PEER_OPEN)
        nats_publish_farewell(link);
}

static void expire(struct link *link) {
    struct list *all = &neighbours_of(link)->all;
    uint64_t now_ms = shard_now_ms(link->shard);
    if (now_ms >= LINK_QUIET_MS)
        cluster_members_forget_strangers(neighbours_of(link), now_ms - LINK_QUIET_MS);
    for (struct list *node = all->next, *next; node != all; node = next) {
        struct cluster_member *remote = list_entry(node, struct cluster_member, link);
        next = node->next;
        if (now_ms - remote->heard_ms < LINK_QUIET_MS)
            return;
        leave(link, remote);
    }
}

// --- Asking

// About all that this hub has of ours.
static void ask(struct link *link, const struct cluster_member *remote) {
    struct text list;
    text_init(&list);
    for (struct list *node = remote->owes.next; node != &remote->owes; node = node->next) {
        if (!has_room(&list))
            nats_publish_ask(link, remote->name, &list);
        nats_publish_put_number(&list, list_entry(node, struct outbound_request, link)->hub_id);
    }
    nats_publish_ask(link, remote->name, &list);
    text_deinit(&list);
}

static void ask_all(struct link *link) {
    struct list *all = &neighbours_of(link)->all;
    uint64_t now_ms = shard_now_ms(link->shard);
    for (struct list *node = all->next; node != all; node = node->next) {
        const struct cluster_member *remote = list_entry(node, struct cluster_member, link);
        bool is_missed = now_ms - remote->heard_ms >= LINK_MISSED_MS;
        if (is_missed || !list_empty(&remote->owes) || !list_empty(&remote->asked))
            ask(link, remote);
    }
}

// Ends what all hubs say that they don't have. Where one that may have had it has gone, nobody knows.
static bool settle(struct link *link, struct outbound_request *outbound) {
    assert(!outbound->taker);
    static const uint64_t none[CLUSTER_MEMBER_WORDS] = {0};
    if (shard_now_ms(link->shard) - outbound->sent_ms < LINK_DENY_MS ||
        !cluster_members_all(neighbours_of(link), outbound->rest ? outbound->rest->denied : none))
        return false;
    if (outbound->unsure)
        outbound_request_lost(link, outbound);
    else
        outbound_request_nobody(link, outbound);
    return true;
}

// Whether to ask after it. Where no hub has been heard of for long, whoever may have had it is there no more.
static bool is_sought(struct link *link, struct outbound_request *outbound, uint64_t now_ms) {
    bool alone = list_empty(&neighbours_of(link)->all);
    if (alone && now_ms - outbound->sent_ms >= LINK_QUIET_MS)
        outbound_request_lost(link, outbound);
    else if (!alone && now_ms - outbound->sent_ms >= LINK_SEEK_MS)
        return !settle(link, outbound);
    return false;
}

// A publication may be lost on its way between two servers, and a hub's sign that it took a request, too.
static void seek(struct link *link) {
    struct list *untaken = &link->inflight.untaken;
    uint64_t now_ms = shard_now_ms(link->shard);
    unsigned lists = 0;
    struct text list;
    text_init(&list);
    for (struct list *node = untaken->next, *next; node != untaken && lists < SEEK_LISTS_MAX; node = next) {
        struct outbound_request *outbound = list_entry(node, struct outbound_request, link);
        next = node->next;
        if (now_ms - outbound->sent_ms < LINK_SEEK_MS)
            break;
        if (!is_sought(link, outbound, now_ms))
            continue;
        nats_publish_put_number(&list, outbound->hub_id);
        if (has_room(&list))
            continue;
        nats_publish_seek(link, &list);
        lists++;
    }
    if (list.length || list.failed)
        nats_publish_seek(link, &list);
    text_deinit(&list);
}

void heartbeat_beat(struct link *link) {
    struct shard *shard = link->shard;
    assert(link->state == LINK_UP);
    link->beat_ms = shard_now_ms(shard);
    if (link->peer->state != PEER_OPEN)
        return; // there was no memory for what was to be said just before
    nats_publish_beat(link);
    expire(link);
    name_conflict_beat(link);
    interest_beat(link);
    ask_all(link);
    seek(link);
}

// --- What another hub says

// A request that has ended here meanwhile is cancelled there: its answer would be nobody's.
static void note_taker(struct link *link, const char hub[HUB_NAME_BYTES], uint64_t number) {
    struct outbound_request *outbound = inflight_find_sent(&link->inflight, number);
    if (outbound && (outbound->taker || !outbound_retry_may_have(outbound, hub)))
        return;
    struct cluster_member *taker =
        outbound ? cluster_members_find(neighbours_of(link), hub) : NULL; // it is heard
    if (outbound && !taker)
        taker = cluster_members_hear(neighbours_of(link), hub, shard_now_ms(link->shard), true);
    if (outbound && !taker)
        return; // it is sought, and then there may be memory
    if (outbound)
        inflight_take(outbound, taker);
    if (outbound && (outbound->returns || outbound->kept))
        spill_report_taken(link, outbound);
    if (!outbound)
        nats_publish_cancel(link, hub, number, true);
    else if (outbound->cancelled)
        outbound_cancel_tell(link, outbound);
    if (outbound && outbound->is_nobodys) {
        nats_publish_cancel(link, hub, number, true);
        inflight_remove(&link->inflight, outbound);
    }
}

// What it took and doesn't have any more ends, unless the answer has come meanwhile.
static void note_gone(struct link *link, const struct cluster_member *remote, uint64_t number) {
    struct outbound_request *outbound = inflight_find_sent(&link->inflight, number);
    if (outbound && remote && outbound->taker == remote)
        outbound_request_lost(link, outbound);
}

static void note_none(struct link *link, const struct cluster_member *remote, uint64_t number) {
    struct outbound_request *outbound = inflight_find_sent(&link->inflight, number);
    if (!outbound || outbound->taker || !remote || remote->place == CLUSTER_MEMBERS_MAX)
        return;
    struct outbound_request_rest *rest = inflight_rest(&link->inflight, outbound);
    if (!rest)
        return; // it is sought again, and then there may be memory
    rest->denied[remote->place / 64] |= UINT64_C(1) << remote->place % 64;
    settle(link, outbound);
}

static struct inbound_request *visitor_of(struct link *link, const char hub[HUB_NAME_BYTES],
                                          uint64_t number) {
    const struct cluster_member *remote = cluster_members_find(neighbours_of(link), hub);
    return remote && number ? inflight_visitor(&link->inflight, remote, number) : NULL;
}

// Says of the requests in a list which are here, under one key, and which aren't, under another; a key of NULL: nothing is said.
static void answer(struct link *link, const uint8_t *bytes, const struct hub_header *header, struct span list,
                   const char *here, const char *remote_target) {
    struct text lists[2];
    const char *keys[] = {remote_target, here};
    for (unsigned at = 0; at < 2; at++)
        text_init(&lists[at]);
    for (uint64_t number; hub_header_next(bytes, &list, &number);) {
        bool is_here = number && visitor_of(link, header->hub, number);
        if (number && keys[is_here] && has_room(&lists[is_here]))
            nats_publish_put_number(&lists[is_here], number);
    }
    for (unsigned at = 0; at < 2; at++) {
        if (lists[at].length || lists[at].failed)
            nats_publish_list(link, header->hub, keys[at], &lists[at]);
        text_deinit(&lists[at]);
    }
}

void heartbeat_heard(struct link *link, const struct hub_header *header) {
    struct cluster_members *cluster_members = neighbours_of(link);
    if (!header->given || !header->has_hub || link_is_own(link, header->hub))
        return;
    bool is_new = !cluster_members_find(cluster_members, header->hub);
    struct cluster_member *heard = cluster_members_hear_of(cluster_members, header->hub,
                                                           shard_now_ms(link->shard), header->knows_fences);
    link->unsettled |= heard && is_new;
    if (heard)
        heard->is_joint |= header->is_joint;
    if (heard && is_new && link->state == LINK_UP)
        nats_publish_beat(link); // who has just come knows nobody yet
}

void heartbeat_beaten(struct link *link, const struct hub_header *header) {
    assert(header->given && header->has_hub);
    if (!link_is_own(link, header->hub) && !header->leaves && !header->knows_fences &&
        !cluster_members_find(neighbours_of(link), header->hub))
        cluster_members_meet_stranger(neighbours_of(link), shard_now_ms(link->shard));
}

void heartbeat_take(struct link *link, const uint8_t *bytes, const struct hub_header *header) {
    struct span list = header->taken;
    uint64_t number;
    assert(header->given && header->has_hub);
    if (link_is_own(link, header->hub))
        return; // of the link before this one
    heartbeat_heard(link, header);
    const struct cluster_member *remote = cluster_members_find(neighbours_of(link), header->hub);
    while (hub_header_next(bytes, &list, &number))
        if (number)
            note_taker(link, header->hub, number);
    list = header->gone;
    while (hub_header_next(bytes, &list, &number))
        note_gone(link, remote, number);
    list = header->none;
    while (hub_header_next(bytes, &list, &number))
        note_none(link, remote, number);
    answer(link, bytes, header, header->asked, NULL, "gone");
    answer(link, bytes, header, header->sought, "taken", "none");
    struct inbound_request *inbound =
        header->cancelled ? visitor_of(link, header->hub, header->cancelled) : NULL;
    if (inbound)
        cancel_visitor(link, inbound, !header->is_nobodys);
    if (header->leaves)
        heartbeat_hub_gone(link, header->hub);
}

struct pending *heartbeat_pending(struct link *link, const char hub[HUB_NAME_BYTES], uint64_t number) {
    const struct inbound_request *inbound = visitor_of(link, hub, number);
    assert(number);
    return inbound ? pending_of(link, inbound) : NULL;
}
