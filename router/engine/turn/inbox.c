#include "router/engine/turn/inbox.h"

#include <assert.h>

#include "core/base/list.h"
#include "router/audit/journal.h"
#include "router/engine/request/cancel.h"
#include "router/engine/request/completion.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/feature_call.h"
#include "router/engine/shard/post.h"
#include "router/engine/turn/accept.h"
#include "router/engine/turn/peer_teardown.h"
#include "router/engine/turn/read_fairness.h"
#include "router/events/events.h"
#include "router/forwarding/progress.h"
#include "router/registry/directory.h"
#include "router/registry/registry.h"
#include "router/routing/remote_attach.h"
#include "router/routing/remote_end.h"

static struct parcel *inbox_parcel_of(struct mail *mail) {
    return list_entry(mail, struct parcel, mail);
}

static void send_back_refused(struct shard *shard, struct parcel *parcel) {
    assert(parcel->pool->shard == hub_id_shard(parcel->hub_id) && parcel->pool->shard != shard->index);
    rejects_put(&shard->rejects, parcel);
    parcel->mail.kind = MAIL_REFUSED;
    parcel->mail.detail = ERROR_OVERLOADED;
    mailbox_post(hub_mailbox(shard->hub, shard->index, parcel->pool->shard), &parcel->mail);
}

// Ends a request that the target's queue refused. Then tells the target's shard so (MAIL_KNOWN): mail that this shard
// posts behind MAIL_KNOWN can't name the request any more.
static void take_refused(struct shard *shard, struct parcel *parcel) {
    uint32_t from = connection_shard(parcel->mail.connection);
    assert(parcel->pool->shard == shard->index && from != shard->index);
    completion_refused(shard, parcel->hub_id, (enum error)parcel->mail.detail);
    parcel->mail.kind = MAIL_KNOWN;
    mailbox_post(hub_mailbox(shard->hub, shard->index, from), &parcel->mail);
}

// A request or notification for a peer of this shard. If the peer is gone, what was asked of it ends when
// that is known to the shard that asked: its registry entry is on its way.
static void take_delivery(struct shard *shard, struct parcel *parcel) {
    assert(connection_shard(parcel->mail.connection) == shard->index && parcel->pool->shard != shard->index);
    struct peer *peer = peer_find(shard, parcel->mail.connection);
    if (!peer) {
        drop_one(shard, COUNT_DROP_TARGET_GONE, parcel->mail.connection, parcel->bytes);
        send_release(shard, parcel);
    } else if (queue_limit_has_room(shard, peer)) {
        send_queue(shard, peer, parcel);
    } else if (parcel->hub_id) {
        send_back_refused(shard, parcel);
    } else {
        if (parcel->mail.detail == MAIL_DELIVERY_EVENT_REMOTE) {
            stats_count(&shard->stats, COUNT_EVENTS_DROPPED);
            atomic_fetch_add_explicit(&shard->hub->events_dropped, 1, memory_order_relaxed);
        }
        drop_one(shard, COUNT_DROP_OVERLOADED, peer->connection_id, parcel->bytes);
        send_release(shard, parcel);
    }
}

static void take_cancelled(struct shard *shard, struct parcel *parcel) {
    assert(parcel->pool->shard == shard->index && hub_id_shard(parcel->hub_id) == shard->index);
    struct pending *pending = pending_find(&shard->pending, parcel->hub_id);
    parcel_drop(parcel);
    if (pending)
        completion_cancelled(shard, pending);
}

static void take_part(struct shard *shard, struct parcel *parcel) {
    struct peer *peer = peer_find(shard, parcel->mail.connection);
    assert(parcel->pool->shard != shard->index);
    if (peer)
        peer_linger(shard, peer);
    send_release(shard, parcel);
}

static void take_parcel(struct shard *shard, struct mail *mail) {
    struct parcel *parcel = inbox_parcel_of(mail);
    switch ((enum mail_kind)mail->kind) {
    case MAIL_DELIVER:
        take_delivery(shard, parcel);
        break;
    case MAIL_RESPONSE:
        completion_deliver(shard, parcel->hub_id, mail->connection, parcel);
        break;
    case MAIL_BROKEN:
        completion_broken(shard, parcel->hub_id, mail->connection);
        send_release(shard, parcel);
        break;
    case MAIL_PROGRESS:
        progress_arrived(shard, parcel);
        break;
    case MAIL_REFUSED:
        take_refused(shard, parcel);
        break;
    case MAIL_KNOWN:
        rejects_remove(&shard->rejects, parcel);
        send_release(shard, parcel);
        break;
    case MAIL_RETURN:
        send_release(shard, parcel);
        break;
    case MAIL_CANCEL:
        cancel_handle_mail(shard, parcel);
        break;
    case MAIL_CANCELLED:
        take_cancelled(shard, parcel);
        break;
    case MAIL_CLOSE_PEER:
        take_part(shard, parcel);
        break;
    default:
        assert(false);
    }
}

static void inbox_take(struct shard *shard, struct mail *mail) {
    assert(!shard->teardown && !shard->event_run.count);
    switch ((enum mail_kind)mail->kind) {
    case MAIL_DELIVER:
    case MAIL_RESPONSE:
    case MAIL_BROKEN:
    case MAIL_PROGRESS:
    case MAIL_REFUSED:
    case MAIL_KNOWN:
    case MAIL_RETURN:
    case MAIL_CANCEL:
    case MAIL_CANCELLED:
    case MAIL_CLOSE_PEER:
        take_parcel(shard, mail);
        break;
    case MAIL_EVENT:
        events_arrived(shard, mail);
        break;
    case MAIL_EVENT_ACK:
        events_returned(shard, mail);
        break;
    case MAIL_ADOPT:
        accept_adopt(shard, mail);
        break;
    case MAIL_EVICT:
        accept_evict(shard, mail);
        break;
    case MAIL_ORDER:
        post_defer(shard, mail);
        break;
    case MAIL_ATTACH:
        remote_attach_arrived(shard, mail);
        break;
    case MAIL_REMOTE:
        remote_end_arrived(shard, mail);
        break;
    case MAIL_DIRECTORY_QUERY:
        directory_query_arrived(shard, mail);
        break;
    case MAIL_ENTRIES:
        journal_arrived(shard, list_entry(mail, struct journal_entry, mail));
        break;
    case MAIL_ENTRIES_SETTLED:
        journal_entry_returned(shard, list_entry(mail, struct journal_entry, mail));
        feature_entries_settled(shard);
        break;
    default:
        feature_take_mail(shard, mail);
        break;
    }
    peer_teardown_carry_out(shard);
}

void inbox_read_mail(struct shard *shard) {
    for (uint32_t from = 0; from < shard->hub->start_settings.shard_count; from++) {
        struct mailbox *mailbox = hub_mailbox(shard->hub, from, shard->index);
        for (struct mail *mail; (mail = mailbox_take(mailbox));) {
            assert(from != shard->index);
            inbox_take(shard, mail);
        }
    }
}

// Puts orders back for which the turn had no time. They are the first of the next turn.
static void put_back(struct shard *shard, struct mail *orders) {
    struct mail **last = &orders;
    while (*last)
        last = &(*last)->next;
    *last = shard->orders;
    if (!shard->orders)
        shard->orders_last = last;
    shard->orders = orders;
}

// Applies the orders that came before the second reading of mail. Orders that the second reading brings wait for the
// next turn.
static void carry_out_orders(struct shard *shard) {
    struct mail **last = shard->orders_last;
    inbox_read_mail(shard);
    struct mail *order = shard->orders;
    assert(order && last != &shard->orders);
    shard->orders = *last;
    *last = NULL;
    if (!shard->orders)
        shard->orders_last = &shard->orders;
    uint64_t now_ns = io_clock(shard->io), until_ns = now_ns + shard->bounds.registry_ns;
    bool whole;
    do {
        struct mail *next = order->next;
        uint64_t connection = order->connection;
        assert(order->kind == MAIL_ORDER);
        whole = registry_step(shard, list_entry(order, struct order, mail));
        peer_teardown_carry_out(shard);
        now_ns = read_fairness_charge(shard, connection, now_ns);
        order = whole ? next : order;
    } while (order && whole && now_ns < until_ns);
    if (order)
        put_back(shard, order);
}

void inbox_read(struct shard *shard) {
    inbox_read_mail(shard);
    if (shard->orders)
        carry_out_orders(shard);
}
