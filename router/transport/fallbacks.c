#include "router/transport/fallbacks.h"

#include <assert.h>

#include "core/cluster/mark.h"
#include "core/send/envelope.h"
#include "core/wire/wire.h"
#include "router/route/elsewhere.h"
#include "router/send/send.h"

struct fallback {
    struct list link; // in fallbacks.all
    struct bin bin;   // of fallbacks.by_number
    uint64_t number;
    uint64_t ping; // that is said behind it; 0: it isn't said yet
    struct parcel *parcel;
};

void fallbacks_init(struct fallbacks *fallbacks, struct shard *shard) {
    assert(shard->index == 0);
    *fallbacks = (struct fallbacks){.shard = shard};
    list_init(&fallbacks->all);
    bins_init(&fallbacks->by_number, &shard->kept);
}

static struct fallback *oldest(const struct fallbacks *fallbacks) {
    return fallbacks_wait(fallbacks) ? list_entry(fallbacks->all.next, struct fallback, link) : NULL;
}

// With what it takes besides its bytes: of a small one that is most.
static size_t footprint(const struct fallback *fallback) {
    return fallback->parcel->bytes + sizeof *fallback->parcel + sizeof *fallback;
}

static struct parcel *let_go(struct fallbacks *fallbacks, struct fallback *fallback) {
    struct parcel *parcel = fallback->parcel;
    assert(fallbacks->bytes >= footprint(fallback));
    fallbacks->bytes -= footprint(fallback);
    list_remove(&fallback->link);
    bins_remove(&fallbacks->by_number, &fallback->bin);
    kept_give(&fallbacks->shard->kept, fallback);
    return parcel;
}

void fallbacks_forget(struct fallbacks *fallbacks) {
    for (struct fallback *fallback; (fallback = oldest(fallbacks));)
        send_release(fallbacks->shard, let_go(fallbacks, fallback));
    assert(fallbacks->bytes == 0);
    bins_deinit(&fallbacks->by_number);
}

// What a server that says nothing has kept here is bounded as what waits for it, and keeps no receive buffer where it is small: a copy
// has its head where that was put on before.
static struct fallback *add(struct fallbacks *fallbacks, struct parcel *parcel) {
    bool has_room = fallbacks->bytes < shard_limits(fallbacks->shard)->queue_bytes_max;
    struct fallback *fallback = has_room ? kept_take(&fallbacks->shard->kept, sizeof *fallback) : NULL;
    if (!fallback)
        return NULL;
    *fallback = (struct fallback){.number = fallbacks->last + 1};
    if (!bins_add(&fallbacks->by_number, &fallback->bin, fallback->number)) {
        kept_give(&fallbacks->shard->kept, fallback);
        return NULL;
    }
    fallbacks->last = fallback->number;
    if (!parcel->dressed)
        parcel_dress(parcel, &wire_nats);
    fallback->parcel = send_detach(fallbacks->shard, parcel);
    fallbacks->bytes += footprint(fallback);
    list_append(&fallbacks->all, &fallback->link);
    return fallback;
}

void fallbacks_keep(struct fallbacks *fallbacks, struct parcel *parcel, uint32_t inbox_bytes) {
    const struct bearing *bearing = &parcel->bearing;
    char *head = parcel->long_head ? parcel->head : parcel->inline_text;
    uint32_t reply_at = (uint32_t)bearing->token_at + bearing->token_bytes + 1;
    uint32_t at = reply_at + inbox_bytes + ELSEWHERE_FALLBACK_AT;
    struct parcel *kept = parcel->fallback;
    assert(parcel->has_fallback && parcel->has_head && at + 16 < parcel->head_count);
    parcel->has_fallback = false;
    const struct fallback *fallback = add(fallbacks, kept);
    if (fallback)
        mark_all_digits(head + at, fallback->number);
    else
        send_release(fallbacks->shard, kept);
}

bool fallbacks_follow(struct fallbacks *fallbacks, uint64_t ping) {
    bool any = false;
    assert(ping > 0);
    for (struct list *node = fallbacks->all.prev; node != &fallbacks->all; node = node->prev) {
        struct fallback *fallback = list_entry(node, struct fallback, link);
        if (fallback->ping)
            break;
        fallback->ping = ping;
        any = true;
    }
    return any;
}

void fallbacks_answered(struct fallbacks *fallbacks, uint64_t pongs) {
    for (struct fallback *fallback;
         (fallback = oldest(fallbacks)) && fallback->ping && fallback->ping <= pongs;)
        send_release(fallbacks->shard, let_go(fallbacks, fallback));
}

// No two have one number, which is its own hash: they are given out in turn.
struct parcel *fallbacks_take(struct fallbacks *fallbacks, uint64_t number) {
    struct bin *bin = bins_find(&fallbacks->by_number, number);
    return bin ? let_go(fallbacks, bin_entry(bin, struct fallback, bin)) : NULL;
}
