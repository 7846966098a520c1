#include "router/transport/seconds.h"

#include <assert.h>

#include "core/cluster/mark.h"
#include "core/send/envelope.h"
#include "core/wire/wire.h"
#include "router/route/elsewhere.h"
#include "router/send/send.h"

struct second {
    struct list link; // in seconds.all
    struct bin bin;   // of seconds.by_number
    uint64_t number;
    uint64_t ping; // that is said behind it; 0: it isn't said yet
    struct parcel *parcel;
};

void seconds_init(struct seconds *seconds, struct shard *shard) {
    assert(shard->index == 0);
    *seconds = (struct seconds){.shard = shard};
    list_init(&seconds->all);
    bins_init(&seconds->by_number, &shard->kept);
}

static struct second *oldest(const struct seconds *seconds) {
    return seconds_wait(seconds) ? list_entry(seconds->all.next, struct second, link) : NULL;
}

// With what it takes besides its bytes: of a small one that is most.
static size_t footprint(const struct second *second) {
    return second->parcel->bytes + sizeof *second->parcel + sizeof *second;
}

static struct parcel *let_go(struct seconds *seconds, struct second *second) {
    struct parcel *parcel = second->parcel;
    assert(seconds->bytes >= footprint(second));
    seconds->bytes -= footprint(second);
    list_remove(&second->link);
    bins_remove(&seconds->by_number, &second->bin);
    kept_give(&seconds->shard->kept, second);
    return parcel;
}

void seconds_forget(struct seconds *seconds) {
    for (struct second *second; (second = oldest(seconds));)
        send_release(seconds->shard, let_go(seconds, second));
    assert(seconds->bytes == 0);
    bins_deinit(&seconds->by_number);
}

// What a server that says nothing has kept here is bounded as what waits for it, and keeps no receive buffer where it is small: a copy
// has its head where that was put on before.
static struct second *add(struct seconds *seconds, struct parcel *parcel) {
    bool has_room = seconds->bytes < shard_limits(seconds->shard)->queue_bytes_max;
    struct second *second = has_room ? kept_take(&seconds->shard->kept, sizeof *second) : NULL;
    if (!second)
        return NULL;
    *second = (struct second){.number = seconds->last + 1};
    if (!bins_add(&seconds->by_number, &second->bin, second->number)) {
        kept_give(&seconds->shard->kept, second);
        return NULL;
    }
    seconds->last = second->number;
    if (!parcel->dressed)
        parcel_dress(parcel, &wire_nats);
    second->parcel = send_detach(seconds->shard, parcel);
    seconds->bytes += footprint(second);
    list_append(&seconds->all, &second->link);
    return second;
}

void seconds_keep(struct seconds *seconds, struct parcel *parcel, uint32_t inbox_bytes) {
    const struct bearing *bearing = &parcel->bearing;
    char *head = parcel->long_head ? parcel->head : parcel->inline_text;
    uint32_t reply_at = (uint32_t)bearing->token_at + bearing->token_bytes + 1;
    uint32_t at = reply_at + inbox_bytes + ELSEWHERE_SECOND_AT;
    struct parcel *kept = parcel->second;
    assert(parcel->has_second && parcel->has_head && at + 16 < parcel->head_count);
    parcel->has_second = false;
    const struct second *second = add(seconds, kept);
    if (second)
        mark_all_digits(head + at, second->number);
    else
        send_release(seconds->shard, kept);
}

bool seconds_follow(struct seconds *seconds, uint64_t ping) {
    bool any = false;
    assert(ping > 0);
    for (struct list *node = seconds->all.prev; node != &seconds->all; node = node->prev) {
        struct second *second = list_entry(node, struct second, link);
        if (second->ping)
            break;
        second->ping = ping;
        any = true;
    }
    return any;
}

void seconds_answered(struct seconds *seconds, uint64_t pongs) {
    for (struct second *second; (second = oldest(seconds)) && second->ping && second->ping <= pongs;)
        send_release(seconds->shard, let_go(seconds, second));
}

// No two have one number, which is its own hash: they are given out in turn.
struct parcel *seconds_take(struct seconds *seconds, uint64_t number) {
    struct bin *bin = bins_find(&seconds->by_number, number);
    return bin ? let_go(seconds, bin_entry(bin, struct second, bin)) : NULL;
}
