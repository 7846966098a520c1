#include "router/transport/signs.h"

#include <assert.h>
#include <string.h>

#include "core/cluster/bundle.h"
#include "router/engine/request/cancel.h"
#include "router/engine/request/completion.h"
#include "router/engine/send/exchange.h"
#include "router/transport/again.h"
#include "router/transport/claims.h"
#include "router/transport/going.h"
#include "router/transport/naming.h"
#include "router/transport/nats_open.h"
#include "router/transport/nats_say.h"
#include "router/transport/recalling.h"
#include "router/transport/returning.h"

// Lists of requests that nobody took, a second: the oldest; others are asked after later.
enum { SEEK_LISTS_MAX = 32 };

static struct neighbours *neighbours_of(struct link *link) {
    assert(link->peer);
    return &link->crossings.neighbours;
}

static bool has_room(const struct text *list) {
    return list->length + 17 <= HUB_HEADER_NUMBERS_BYTES_MAX;
}

// --- Hubs that have gone

// The request that was forwarded for a visitor; NULL: it has ended, or isn't forwarded yet.
static struct pending *pending_of(struct link *link, const struct visitor *visitor) {
    uint64_t hub_id = visitor->exchange->hub_id;
    struct pending *pending = hub_id ? pending_find(&link->shard->pending, hub_id) : NULL;
    assert(!pending || pending->exchange == visitor->exchange);
    return pending;
}

static void cancel_visitor(struct link *link, const struct visitor *visitor, bool lasts) {
    struct shard *shard = link->shard;
    struct pending *pending = pending_of(link, visitor);
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
static void forget_denials(struct link *link, const struct neighbour *neighbour) {
    struct list *untaken = &link->crossings.untaken;
    if (neighbour->place == NEIGHBOURS_MAX)
        return;
    uint64_t bit = UINT64_C(1) << neighbour->place % 64;
    for (struct list *node = untaken->next; node != untaken; node = node->next) {
        struct crossing *crossing = list_entry(node, struct crossing, link);
        uint64_t none = 0, *word = crossing->rest ? &crossing->rest->denied[neighbour->place / 64] : &none;
        crossing->unsure |= !(*word & bit);
        *word &= ~bit;
    }
}

// What can't be cancelled yet, since it isn't forwarded, is looked at again a second later.
static void leave(struct link *link, struct neighbour *neighbour) {
    for (struct list *node = neighbour->owes.next, *next; node != &neighbour->owes; node = next) {
        next = node->next;
        going_lost(link, list_entry(node, struct crossing, link));
    }
    for (struct list *node = neighbour->asked.next, *next; node != &neighbour->asked; node = next) {
        next = node->next;
        cancel_visitor(link, list_entry(node, struct visitor, link), false);
    }
    assert(list_empty(&neighbour->owes));
    forget_denials(link, neighbour);
    neighbours_displace(neighbours_of(link), neighbour);
    if (list_empty(&neighbour->asked))
        neighbours_remove(neighbours_of(link), neighbour);
}

void signs_hub_gone(struct link *link, const char hub[HUB_NAME_BYTES]) {
    struct neighbour *neighbour = neighbours_find(neighbours_of(link), hub);
    if (neighbour)
        leave(link, neighbour);
}

void signs_farewell(struct shard *shard) {
    struct link *link = shard->link;
    assert(shard->phase == HUB_CLOSING);
    for (; link; link = link->former)
        if (link->state == LINK_UP && link->peer && link->peer->state == PEER_OPEN)
            nats_say_farewell(link);
}

static void expire(struct link *link) {
    struct list *all = &neighbours_of(link)->all;
    uint64_t now_ms = shard_now_ms(link->shard);
    if (now_ms >= LINK_QUIET_MS)
        neighbours_forget_strangers(neighbours_of(link), now_ms - LINK_QUIET_MS);
    for (struct list *node = all->next, *next; node != all; node = next) {
        struct neighbour *neighbour = list_entry(node, struct neighbour, link);
        next = node->next;
        if (now_ms - neighbour->heard_ms < LINK_QUIET_MS)
            return;
        leave(link, neighbour);
    }
}

// --- Asking

// About all that this hub has of ours.
static void ask(struct link *link, const struct neighbour *neighbour) {
    struct text list;
    text_init(&list);
    for (struct list *node = neighbour->owes.next; node != &neighbour->owes; node = node->next) {
        if (!has_room(&list))
            nats_say_ask(link, neighbour->name, &list);
        nats_put_number(&list, list_entry(node, struct crossing, link)->hub_id);
    }
    nats_say_ask(link, neighbour->name, &list);
    text_deinit(&list);
}

static void ask_all(struct link *link) {
    struct list *all = &neighbours_of(link)->all;
    uint64_t now_ms = shard_now_ms(link->shard);
    for (struct list *node = all->next; node != all; node = node->next) {
        const struct neighbour *neighbour = list_entry(node, struct neighbour, link);
        bool is_missed = now_ms - neighbour->heard_ms >= LINK_MISSED_MS;
        if (is_missed || !list_empty(&neighbour->owes) || !list_empty(&neighbour->asked))
            ask(link, neighbour);
    }
}

// Ends what all hubs say that they don't have. Where one that may have had it has gone, nobody knows.
static bool settle(struct link *link, struct crossing *crossing) {
    assert(!crossing->taker);
    static const uint64_t none[NEIGHBOUR_WORDS] = {0};
    if (shard_now_ms(link->shard) - crossing->sent_ms < LINK_DENY_MS ||
        !neighbours_all(neighbours_of(link), crossing->rest ? crossing->rest->denied : none))
        return false;
    if (crossing->unsure)
        going_lost(link, crossing);
    else
        going_nobody(link, crossing);
    return true;
}

// Whether to ask after it. Where no hub has been heard of for long, whoever may have had it is there no more.
static bool is_sought(struct link *link, struct crossing *crossing, uint64_t now_ms) {
    bool alone = list_empty(&neighbours_of(link)->all);
    if (alone && now_ms - crossing->sent_ms >= LINK_QUIET_MS)
        going_lost(link, crossing);
    else if (!alone && now_ms - crossing->sent_ms >= LINK_SEEK_MS)
        return !settle(link, crossing);
    return false;
}

// A publication may be lost on its way between two servers, and a hub's sign that it took a request, too.
static void seek(struct link *link) {
    struct list *untaken = &link->crossings.untaken;
    uint64_t now_ms = shard_now_ms(link->shard);
    unsigned lists = 0;
    struct text list;
    text_init(&list);
    for (struct list *node = untaken->next, *next; node != untaken && lists < SEEK_LISTS_MAX; node = next) {
        struct crossing *crossing = list_entry(node, struct crossing, link);
        next = node->next;
        if (now_ms - crossing->sent_ms < LINK_SEEK_MS)
            break;
        if (!is_sought(link, crossing, now_ms))
            continue;
        nats_put_number(&list, crossing->hub_id);
        if (has_room(&list))
            continue;
        nats_say_seek(link, &list);
        lists++;
    }
    if (list.length || list.failed)
        nats_say_seek(link, &list);
    text_deinit(&list);
}

void signs_beat(struct link *link) {
    struct shard *shard = link->shard;
    assert(link->state == LINK_UP);
    link->beat_ms = shard_now_ms(shard);
    if (link->peer->state != PEER_OPEN)
        return; // there was no memory for what was to be said just before
    nats_say_beat(link);
    expire(link);
    claims_beat(link);
    naming_beat(link);
    ask_all(link);
    seek(link);
}

// --- What another hub says

// A request that has ended here meanwhile is cancelled there: its answer would be nobody's.
static void note_taker(struct link *link, const char hub[HUB_NAME_BYTES], uint64_t number) {
    struct crossing *crossing = crossings_find_sent(&link->crossings, number);
    if (crossing && (crossing->taker || !again_may_have(crossing, hub)))
        return;
    struct neighbour *taker = crossing ? neighbours_find(neighbours_of(link), hub) : NULL; // it is heard
    if (crossing && !taker)
        taker = neighbours_hear(neighbours_of(link), hub, shard_now_ms(link->shard), true);
    if (crossing && !taker)
        return; // it is sought, and then there may be memory
    if (crossing)
        crossings_take(crossing, taker);
    if (crossing && (crossing->returns || crossing->kept))
        returning_taken(link, crossing);
    if (!crossing)
        nats_say_cancel(link, hub, number, true);
    else if (crossing->cancelled)
        recalling_tell(link, crossing);
    if (crossing && crossing->is_nobodys) {
        nats_say_cancel(link, hub, number, true);
        crossings_remove(&link->crossings, crossing);
    }
}

// What it took and doesn't have any more ends, unless the answer has come meanwhile.
static void note_gone(struct link *link, const struct neighbour *neighbour, uint64_t number) {
    struct crossing *crossing = crossings_find_sent(&link->crossings, number);
    if (crossing && neighbour && crossing->taker == neighbour)
        going_lost(link, crossing);
}

static void note_none(struct link *link, const struct neighbour *neighbour, uint64_t number) {
    struct crossing *crossing = crossings_find_sent(&link->crossings, number);
    if (!crossing || crossing->taker || !neighbour || neighbour->place == NEIGHBOURS_MAX)
        return;
    struct crossing_rest *rest = crossings_rest(&link->crossings, crossing);
    if (!rest)
        return; // it is sought again, and then there may be memory
    rest->denied[neighbour->place / 64] |= UINT64_C(1) << neighbour->place % 64;
    settle(link, crossing);
}

static struct visitor *visitor_of(struct link *link, const char hub[HUB_NAME_BYTES], uint64_t number) {
    const struct neighbour *neighbour = neighbours_find(neighbours_of(link), hub);
    return neighbour && number ? crossings_visitor(&link->crossings, neighbour, number) : NULL;
}

// Says of the requests in a list which are here, under one key, and which aren't, under another; a key of NULL: nothing is said.
static void answer(struct link *link, const uint8_t *bytes, const struct hub_header *mark, struct span list,
                   const char *here, const char *remote_target) {
    struct text lists[2];
    const char *keys[] = {remote_target, here};
    for (unsigned at = 0; at < 2; at++)
        text_init(&lists[at]);
    for (uint64_t number; hub_header_next(bytes, &list, &number);) {
        bool is_here = number && visitor_of(link, mark->hub, number);
        if (number && keys[is_here] && has_room(&lists[is_here]))
            nats_put_number(&lists[is_here], number);
    }
    for (unsigned at = 0; at < 2; at++) {
        if (lists[at].length || lists[at].failed)
            nats_say_list(link, mark->hub, keys[at], &lists[at]);
        text_deinit(&lists[at]);
    }
}

void signs_heard(struct link *link, const struct hub_header *mark) {
    struct neighbours *neighbours = neighbours_of(link);
    if (!mark->given || !mark->has_hub || link_is_own(link, mark->hub))
        return;
    bool is_new = !neighbours_find(neighbours, mark->hub);
    struct neighbour *heard =
        neighbours_hear_of(neighbours, mark->hub, shard_now_ms(link->shard), mark->knows_fences);
    link->unsettled |= heard && is_new;
    if (heard) {
        heard->is_joint |= mark->is_joint;
        if (mark->takes_bundles)
            neighbours_learn_bundles(neighbours, heard);
    }
    if (heard && is_new && link->state == LINK_UP)
        nats_say_beat(link); // who has just come knows nobody yet
}

void signs_beaten(struct link *link, const struct hub_header *mark) {
    assert(mark->given && mark->has_hub);
    if (!link_is_own(link, mark->hub) && !mark->leaves && !neighbours_find(neighbours_of(link), mark->hub))
        neighbours_meet_stranger(neighbours_of(link), shard_now_ms(link->shard), mark->knows_fences,
                                 mark->takes_bundles);
}

void signs_take(struct link *link, const uint8_t *bytes, const struct hub_header *mark) {
    struct span list = mark->taken;
    uint64_t number;
    assert(mark->given && mark->has_hub);
    if (link_is_own(link, mark->hub))
        return; // of the link before this one
    signs_heard(link, mark);
    const struct neighbour *neighbour = neighbours_find(neighbours_of(link), mark->hub);
    while (hub_header_next(bytes, &list, &number))
        if (number)
            note_taker(link, mark->hub, number);
    list = mark->gone;
    while (hub_header_next(bytes, &list, &number))
        note_gone(link, neighbour, number);
    list = mark->none;
    while (hub_header_next(bytes, &list, &number))
        note_none(link, neighbour, number);
    answer(link, bytes, mark, mark->asked, NULL, "gone");
    answer(link, bytes, mark, mark->sought, "taken", "none");
    struct visitor *visitor = mark->cancelled ? visitor_of(link, mark->hub, mark->cancelled) : NULL;
    if (visitor)
        cancel_visitor(link, visitor, !mark->is_nobodys);
    if (mark->leaves)
        signs_hub_gone(link, mark->hub);
}

void signs_took(struct link *link, const struct hub_header *mark, const uint8_t *body, uint32_t bytes) {
    struct span list = {0, bytes};
    uint64_t numbers[CROSSINGS_FORESEEN_MAX];
    uint32_t count;
    assert(mark->given && mark->has_hub && mark->took);
    do {
        count = 0;
        while (count < CROSSINGS_FORESEEN_MAX && bundle_next_number(body, &list, &numbers[count]))
            count++;
        crossings_foresee(&link->crossings, numbers, count);
        for (uint32_t at = 0; at < count && link->peer->state == PEER_OPEN; at++)
            if (numbers[at])
                note_taker(link, mark->hub, numbers[at]);
    } while (count == CROSSINGS_FORESEEN_MAX && link->peer->state == PEER_OPEN);
    if (list.bytes && link->peer->state == PEER_OPEN)
        nats_count_unreadable(link->shard);
}

struct pending *signs_pending(struct link *link, const char hub[HUB_NAME_BYTES], uint64_t number) {
    const struct visitor *visitor = visitor_of(link, hub, number);
    assert(number);
    return visitor ? pending_of(link, visitor) : NULL;
}
